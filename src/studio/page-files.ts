// The build puts both here: see `scripts/studio-page.mjs`.
declare const STUDIO_PAGE: Readonly<Record<string, { readonly type: string; readonly text: string }>>;
declare const STEMMA_VERSION: string;

/** What the page is made of, by the name of the file; `type` is its content type. */
export const pageFiles = STUDIO_PAGE;

/** The version of the package. */
export const packageVersion = STEMMA_VERSION;
