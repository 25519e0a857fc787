// Bundles what a program on an agent or a store uses of the built `stemma/session`, minified, and fails when it is larger
// than it may be.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Where the package is to get, and above what this check fails. */
const GOAL = 30_000;
const LIMIT = 78_000;

/** Providers for an external database are left out of a bundle that does not name them. */
const USED = `export { Session, SessionManager, AgentContextProvider, AgentSearchProvider, R2SkillProvider } from "./dist/session.js"`;

const { outputFiles, metafile } = await build({
  stdin: { contents: USED, resolveDir: "." },
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "esm",
  platform: "neutral",
  external: ["zod"],
});
const [{ contents }] = outputFiles;
const size = gzipSync(contents, { level: 9 }).length;
const imports = [
  ...new Set(Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path))),
];

console.log(
  `stemma/session, minified: ${kilobytes(contents.length)}; gzip: ${kilobytes(size)}; goal ${kilobytes(GOAL)}, limit ${kilobytes(LIMIT)}`,
);
console.log(`Left outside: ${imports.join(", ")}`);
if (size > LIMIT) {
  console.error(`The bundle is ${kilobytes(size - LIMIT)} too large.`);
  process.exitCode = 1;
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
