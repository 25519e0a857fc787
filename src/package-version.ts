// The build puts it here: see `scripts/studio-page.mjs`.
declare const STEMMA_VERSION: string;

/** The version of the package. */
export const packageVersion = STEMMA_VERSION;
