import { fileURLToPath } from "node:url";
import { entryPoints } from "../../scripts/entry-points.mjs";

/** The repository's folder, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What `import` can name: each specifier with the source file behind it, relative to the repository. */
export const ENTRY_POINTS = entryPoints().flatMap(({ specifier, source }) =>
  specifier === null ? [] : [{ specifier, source }],
);

/** The command as it was built last, which may be older than the sources or not there. */
export const BUILT_COMMAND = `${ROOT}packages/stemma/dist/cli/main.js`;
