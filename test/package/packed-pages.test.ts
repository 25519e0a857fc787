import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { withWholeLinks } from "../../scripts/packed-pages.mjs";
import { ROOT } from "./manifest.js";

const REPOSITORY =
  /^https:\/\/(?:github\.com\/stemma-js\/stemma\/blob|raw\.githubusercontent\.com\/stemma-js\/stemma)\/HEAD\//;

it.each(["README.md", "CHANGELOG.md"])("every link of the packed %s leads to a page that is there", (name) => {
  const page = readFileSync(ROOT + name, "utf8");
  const links = [...withWholeLinks(page).matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
  expect(links.filter((link) => !/^https:/.test(link))).toEqual([]);
  const inRepository = links.filter((link) => REPOSITORY.test(link)).map((link) => link.replace(REPOSITORY, ""));
  expect(inRepository.length).toBeGreaterThan(1);
  expect(inRepository.filter((path) => !existsSync(ROOT + path.replace(/#.*/, "")))).toEqual([]);
});

it("a picture leads to its bytes, a page to what is shown, and what is packed stays as it is", () => {
  const page = "![A](docs/a.svg) [B](docs/b.md#c) [D](https://example.org) [E](#e) [L](LICENSE)";
  expect(withWholeLinks(page)).toBe(
    "![A](https://raw.githubusercontent.com/stemma-js/stemma/HEAD/docs/a.svg) [B](https://github.com/stemma-js/stemma/blob/HEAD/docs/b.md#c) [D](https://example.org) [E](#e) [L](LICENSE)",
  );
});
