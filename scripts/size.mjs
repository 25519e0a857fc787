// Bundles what a program on an agent or a store uses of the built `stemma/session`, minified, and fails when what it loads
// to begin with is larger than it may be. What `import()` loads later counts to the total only. The same for the page of the studio.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { studioPage } from "./studio-page.mjs";

/** Where the package is to get, and above what this check fails. */
const GOAL = 30_000;
const LIMIT = 75_000;
/** Of all files of the studio's page together. */
const PAGE_LIMIT = 80_000;

/** Providers for an external database are left out of a bundle that does not name them. */
const USED = `export { Session, SessionManager, AgentContextProvider, AgentSearchProvider, R2SkillProvider } from "./dist/session.js"`;

/** @type {import("esbuild").Plugin} */
const loadedLater = {
  name: "loaded-later",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined));
  },
};

const first = await bundle([loadedLater]);
const total = await bundle([]);
console.log(`stemma/session, minified: ${kilobytes(first.bytes)}; gzip: ${kilobytes(first.gzip)}`);
console.log(`With what is loaded later: ${kilobytes(total.bytes)}; gzip: ${kilobytes(total.gzip)}`);
console.log(`gzip: goal ${kilobytes(GOAL)}, limit ${kilobytes(LIMIT)}`);
console.log(`Left outside: ${first.imports.join(", ") || "nothing"}; later: ${total.imports.join(", ")}`);
if (first.gzip > LIMIT) {
  console.error(`The bundle is ${kilobytes(first.gzip - LIMIT)} too large.`);
  process.exitCode = 1;
}

const page = Object.values(await studioPage()).map(({ text }) => text);
const pageSize = page.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
console.log(
  `the studio's page, minified: ${kilobytes(page.join("").length)}; gzip: ${kilobytes(pageSize)}; limit ${kilobytes(PAGE_LIMIT)}`,
);
if (pageSize > PAGE_LIMIT) {
  console.error(`The studio's page is ${kilobytes(pageSize - PAGE_LIMIT)} too large.`);
  process.exitCode = 1;
}

/** @param {import("esbuild").Plugin[]} plugins */
async function bundle(plugins) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: USED, resolveDir: "." },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: ["zod"],
    plugins,
  });
  const [{ contents }] = outputFiles;
  const found = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  const imports = [...new Set(found.filter(({ kind }) => kind === "import-statement").map(({ path }) => path))];
  return { bytes: contents.length, gzip: gzipSync(contents, { level: 9 }).length, imports };
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
