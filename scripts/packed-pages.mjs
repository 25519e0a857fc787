// README and changelog as they are packed: npm's site and `node_modules` have none of the pages that they link to. `npm pack` and
// `npm publish` call this before and after.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PAGES = ["README.md", "CHANGELOG.md"];
const PACKED = ["README.md", "CHANGELOG.md", "LICENSE"];
const REPOSITORY = "stemma-js/stemma";
const KEPT = "node_modules/.cache/stemma/pages";

/**
 * A page whose links to other files lead to the repository. To its newest state: a tag may not be pushed yet.
 * @param {string} page
 */
export function withWholeLinks(page) {
  return page.replace(/(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)]+)\)/g, (link, image, text, path) => {
    if (PACKED.includes(path)) return link;
    const from =
      image === ""
        ? `https://github.com/${REPOSITORY}/blob/HEAD/`
        : `https://raw.githubusercontent.com/${REPOSITORY}/HEAD/`;
    return `${image}${text}(${from}${path})`;
  });
}

function restore() {
  for (const page of PAGES) {
    const kept = join(KEPT, page);
    if (!existsSync(kept)) continue;
    copyFileSync(kept, page);
    rmSync(kept);
  }
}

if (process.argv[1]?.endsWith("packed-pages.mjs")) {
  // What an earlier packing left that was cut off.
  restore();
  if (process.argv[2] === "make") {
    mkdirSync(KEPT, { recursive: true });
    for (const page of PAGES) {
      copyFileSync(page, join(KEPT, page));
      writeFileSync(page, withWholeLinks(readFileSync(page, "utf8")));
    }
  }
}
