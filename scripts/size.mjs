// Bundles what a program on an agent or a store uses of the built `stemma/session`, minified, and fails when what it loads
// to begin with is larger than it may be; and the smallest program on a Durable Object, with all that it reaches, libraries
// and what is loaded later among it. The same for the page of the studio.
import { gzipSync } from "node:zlib";
import { bundleDurableObject, bundleSession, ENGINE, LIMIT, REACHED_LIMIT } from "./session-bundle.mjs";
import { studioPage } from "./studio-page.mjs";

/** Of all files of the studio's page together. */
const PAGE_LIMIT = 80_000;

const BUILT = { resolveDir: ".", path: "./dist/session.js" };

const first = await bundleSession(BUILT);
const onAgent = await bundleSession({ ...BUILT, with: ENGINE });
const total = await bundleSession({ ...BUILT, with: /./ });
console.log(`stemma/session, minified: ${sizeOf(first)}; limit ${kilobytes(LIMIT)}`);
console.log(`After the first call on an agent's sql, which loads the engine: ${sizeOf(onAgent)}`);
console.log(`With all that is loaded later: ${sizeOf(total)}`);
console.log(`Left outside: ${total.imports.join(", ") || "nothing"}`);
if (first.gzip > LIMIT) {
  console.error(`The bundle is ${kilobytes(first.gzip - LIMIT)} too large.`);
  process.exitCode = 1;
}

const program = await bundleDurableObject();
console.log(`The smallest program on a Durable Object: ${sizeOf(program)}; limit ${kilobytes(REACHED_LIMIT)}`);
if (program.gzip > REACHED_LIMIT) {
  console.error(`The program is ${kilobytes(program.gzip - REACHED_LIMIT)} too large.`);
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

/** @param {{ bytes: number, gzip: number }} bundle */
function sizeOf({ bytes, gzip }) {
  return `${kilobytes(bytes)}; gzip: ${kilobytes(gzip)}`;
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
