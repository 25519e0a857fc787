import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";

const FOLDER = join(ROOT, "docs/background");
const promises = readFileSync(join(FOLDER, "promises.md"), "utf8").match(/^- [\s\S]*?(?=\n- |\n\n|\n$)/gm) ?? [];

/** The titles of the promised tests of each file, by its path. */
const promised: Record<string, string[]> = JSON.parse(readFileSync(`${ROOT}test/docs/promised-tests.json`, "utf8"));

/** The files to which the links at the end of a promise lead. */
function filesOf(promise: string): string[] {
  const [links = ""] = /(?:\[[^\]]+\]\([^)]+\)(?:,\s)?)+$/.exec(promise) ?? [];
  return Array.from(links.matchAll(/\]\(([^)]+)\)/g), ([, path = ""]) => join(FOLDER, path));
}

const nameOf = (file: string) => relative(ROOT, file);
const files = [...new Set(promises.flatMap(filesOf))];

it("each promise ends with links to files of tests", () => {
  expect(promises.length).toBeGreaterThan(150);
  expect(promises.filter((promise) => filesOf(promise).length === 0)).toEqual([]);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

it("promised-tests.json has titles for each of these files, and for no other", () => {
  expect(files.map(nameOf).sort()).toEqual(Object.keys(promised).sort());
});

it("each promised test exists", () => {
  const missing = files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const titles = promised[nameOf(file)] ?? [];
    return titles.filter((title) => !['"', "`"].some((quote) => text.includes(quote + title + quote)));
  });
  expect(missing).toEqual([]);
});
