import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";
import { pages } from "./snippets.js";

const MOST_WORDS = 1500;

/** Pages that are longer than a reader should have to read, and why. */
const LONGER: Record<string, string> = {
  "docs/errors.md": "the table of every error code",
};

/** Not read by users to use a feature. */
const BACKGROUND = /^docs\/background\//;

/** As `wc -w` counts them. */
const wordsOf = (page: string): number =>
  readFileSync(ROOT + page, "utf8")
    .trim()
    .split(/\s+/).length;

const userPages = pages().filter((page) => page.startsWith("docs/") && !BACKGROUND.test(page));

it.each(userPages.filter((page) => !(page in LONGER)))(`%s has at most ${MOST_WORDS} words`, (page) => {
  expect(wordsOf(page)).toBeLessThanOrEqual(MOST_WORDS);
});

it("only pages that are there, and need it, may be longer", () => {
  expect(Object.keys(LONGER).filter((page) => !userPages.includes(page) || wordsOf(page) <= MOST_WORDS)).toEqual([]);
});
