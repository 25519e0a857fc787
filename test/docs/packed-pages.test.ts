import { posix } from "node:path";
import { expect, it } from "vitest";
import { packedPages } from "../../scripts/packed-pages.mjs";

const packed = packedPages();

it("the package brings along the pages for users, and those alone", () => {
  const pages = [...packed.keys()];
  expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/getting-started.md", "docs/stores/sqlite.md"]));
  expect(pages.filter((page) => page.startsWith("docs/background/"))).toEqual([]);
});

it("a link of a packed page leads to a packed page, or into the repository", () => {
  const local = [...packed].flatMap(([page, text]) =>
    [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target = ""]) =>
      posix.join(posix.dirname(page), target),
    ),
  );
  expect(local.filter((file) => !packed.has(file))).toEqual([]);
  const readme = packed.get("README.md");
  expect(readme).toMatch("](docs/getting-started.md)");
  expect(readme).toMatch("](https://github.com/stemma-js/stemma/blob/main/ARCHITECTURE.md)");
  expect(readme).toMatch("](https://raw.githubusercontent.com/stemma-js/stemma/main/docs/images/session.svg)");
});
