// The pages that the package brings along: an agent, or a person, that reads `node_modules` finds them beside the code.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE } from "./entry-points.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Where pages and pictures of the repository are shown. */
const PAGES = "https://github.com/stemma-js/stemma/blob/main/";
const PICTURES = "https://raw.githubusercontent.com/stemma-js/stemma/main/";

/**
 * README, changelog and the pages for users, by their paths. What they link to and is not packed they link to in the repository.
 * @returns {Map<string, string>}
 */
export function packedPages() {
  const docs = ["docs", "docs/stores"].flatMap((folder) =>
    readdirSync(ROOT + folder).flatMap((name) => (name.endsWith(".md") ? [`${folder}/${name}`] : [])),
  );
  const packed = new Set(["README.md", "CHANGELOG.md", ...docs]);
  return new Map([...packed].map((page) => [page, withReachableLinks(page, packed)]));
}

/** Writes them into the package. */
export function writePackedPages() {
  rmSync(`${PACKAGE}docs`, { recursive: true, force: true });
  for (const [page, text] of packedPages()) {
    mkdirSync(dirname(PACKAGE + page), { recursive: true });
    writeFileSync(PACKAGE + page, text);
  }
}

/**
 * @param {string} page
 * @param {ReadonlySet<string>} packed
 */
function withReachableLinks(page, packed) {
  return readFileSync(ROOT + page, "utf8").replace(/\]\(([^)#\s]+)(#[^)\s]*)?\)/g, (whole, target, heading = "") => {
    const file = posix.join(posix.dirname(page), target);
    // Code in a page looks like a link at times, and leads nowhere.
    if (packed.has(file) || !existsSync(ROOT + file)) return whole;
    return `](${/\.(svg|png|webp)$/.test(file) ? PICTURES : PAGES}${file}${heading})`;
  });
}
