// Bundles what a program on an agent or a store reaches of the built `stemma/session`, minified, and the smallest program on a
// Durable Object and the smallest Worker with an object for each user, libraries among them; fails when they are larger than they may be. The same for the page of the studio.
import { gzipSync } from "node:zlib";
import {
  bundleDurableObject,
  bundleSession,
  bundleWorker,
  PROGRAM_LIMIT,
  SESSION_LIMIT,
  WORKER_LIMIT,
} from "./session-bundle.mjs";
import { studioPage } from "./studio-page.mjs";

/** Of all files of the studio's page together. */
const PAGE_LIMIT = 80_000;

const session = await bundleSession({ resolveDir: ".", path: "./packages/stemma/dist/session.js" });
show("stemma/session, with all that it reaches", session, SESSION_LIMIT);
console.log(`Left outside: ${session.imports.join(", ") || "nothing"}`);
show("The smallest program on a Durable Object", await bundleDurableObject(), PROGRAM_LIMIT);
show("The smallest Worker with an object for each user", await bundleWorker(), WORKER_LIMIT);

const page = Object.values(await studioPage()).map(({ text }) => text);
const gzip = page.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
show("The studio's page", { bytes: page.join("").length, gzip }, PAGE_LIMIT);

/**
 * @param {string} what
 * @param {{ bytes: number, gzip: number }} bundle
 * @param {number} limit
 */
function show(what, { bytes, gzip }, limit) {
  console.log(`${what}: ${kilobytes(bytes)}; gzip: ${kilobytes(gzip)}; limit ${kilobytes(limit)}`);
  if (gzip <= limit) return;
  console.error(`That is ${kilobytes(gzip - limit)} too large.`);
  process.exitCode = 1;
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
