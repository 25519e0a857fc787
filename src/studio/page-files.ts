// The build puts it here: see `scripts/studio-page.mjs`.
declare const STUDIO_PAGE: Readonly<Record<string, { readonly type: string; readonly text: string }>>;

/** What the page is made of, by the name of the file; `type` is its content type. */
export const pageFiles = STUDIO_PAGE;
