// Bundles the page of the studio: its script and its style, each as one text.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { manifest } from "./entry-points.mjs";
import { localThread } from "./local-thread.mjs";

const page = fileURLToPath(new URL("../packages/studio/src/page/", import.meta.url));

/** Browsers that know what the page uses. */
const BROWSERS = ["chrome120", "firefox121", "safari17"];

/**
 * The files of the page by name, minified.
 * @returns {Promise<Record<string, { type: string, text: string }>>}
 */
export async function studioPage() {
  const { outputFiles } = await build({
    entryPoints: [
      { in: `${page}main.tsx`, out: "page" },
      { in: `${page}style/main.css`, out: "page" },
    ],
    outdir: "out",
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: BROWSERS,
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "error",
  });
  const textOf = (/** @type {string} */ name) => outputFiles.find(({ path }) => path.endsWith(name))?.text ?? "";
  return {
    "page.js": { type: "text/javascript; charset=utf-8", text: textOf("page.js") },
    "page.css": { type: "text/css; charset=utf-8", text: textOf("page.css") },
  };
}

/** What a bundler puts in the place of the names that the sources declare: the page, the script of a thread, the version. */
export async function studioDefine() {
  return {
    STUDIO_PAGE: JSON.stringify(await studioPage()),
    LOCAL_THREAD: JSON.stringify(await localThread()),
    STEMMA_VERSION: JSON.stringify(manifest.version),
  };
}
