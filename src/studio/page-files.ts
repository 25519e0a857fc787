/** The page's script and style, bundled by `scripts/studio-page.mjs`. The build puts them here. */
declare const STUDIO_PAGE: Readonly<Record<string, { readonly type: string; readonly text: string }>>;

/** What the page is made of, by the name of the file; `type` is its content type. */
export const pageFiles = STUDIO_PAGE;
