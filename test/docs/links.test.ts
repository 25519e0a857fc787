import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { GUIDE } from "../../website/guide.mjs";
import { ROOT } from "../package/manifest.js";
import { pages } from "./snippets.js";

const read = (page: string): string => readFileSync(ROOT + page, "utf8");

/** Where the links of a page lead: a file beside it (or the page itself) and, after `#`, a heading. */
function linksOf(page: string): { readonly to: string; readonly heading: string | undefined }[] {
  return [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, target = "", heading]) => ({
    to: target === "" ? page : join(dirname(page), target),
    heading,
  }));
}

/** The ids that GitHub and the site give to the headings of a page. */
function headingsOf(page: string): Set<string> {
  const headings = read(page)
    .replace(/^```[\s\S]*?^```$/gm, "")
    .matchAll(/^#+ (.+)$/gm);
  return new Set(
    Array.from(headings, ([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

it("every link between pages leads somewhere", () => {
  const broken = pages().flatMap((page) =>
    linksOf(page)
      .filter(({ to }) => !existsSync(join(ROOT, to)))
      .map(({ to }) => `${page} links to ${to}`),
  );
  expect(broken).toEqual([]);
});

it("every link to a heading finds it", () => {
  const broken = pages().flatMap((page) =>
    linksOf(page)
      .filter(({ to, heading }) => heading !== undefined && to.endsWith(".md") && !headingsOf(to).has(heading))
      .map(({ to, heading }) => `${page} links to ${to}#${heading}`),
  );
  expect(broken).toEqual([]);
});

it("the README and the site's sidebar lead to every page of the docs", () => {
  const docs = pages().filter((page) => page.startsWith("docs/"));
  const inReadme = new Set(linksOf("README.md").map(({ to }) => to));
  expect(docs.filter((page) => !inReadme.has(page))).toEqual([]);
  const inSidebar = new Set(GUIDE.flatMap(({ items }) => items).map(({ link }) => `docs${link}.md`));
  expect(docs.filter((page) => !inSidebar.has(page))).toEqual([]);
});
