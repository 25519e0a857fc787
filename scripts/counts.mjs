// Counts what the house is measured by, and prints it beside what it is to be. Fails where something is worse than it was when the
// second number was written here: lower that number with the code.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { waysDown } from "./way-down.mjs";

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8" }).trim().split("\n");
const read = (file) => readFileSync(file, "utf8");
const sources = tracked.filter((file) => /^packages\/[a-z]+\/src\/.*\.tsx?$/.test(file));
// The conformance suite is a test that is published; the face has nothing but entry points.
const product = sources.filter((file) => !/^packages\/(conformance|stemma)\//.test(file));
// SQL that a script makes a module of, each file in one line of it.
const functions = tracked.filter((file) => /^packages\/[a-z]+\/src\/.*\.sql$/.test(file));
const pages = tracked.filter((file) => /^docs\/.*\.md$/.test(file));

const linesOf = (file) => read(file).split("\n").length - 1;
// What a table is drawn with is no word.
const wordsOf = (file) => read(file).match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const mostOf = (names) =>
  Math.max(...names.reduce((counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1), new Map()).values());

const folders = sources.filter((file) => !/^packages\/stemma\/src\/[^/]+$/.test(file)).map((file) => dirname(file));
const names = product.map((file) => basename(file)).filter((name) => name !== "index.ts");
const docstrings = product.flatMap((file) =>
  Array.from(read(file).matchAll(/\/\*\*\s*(?:\* )?([^\n]*)/g), ([, begin = ""]) => begin),
);
// npm itself runs `prepare` after an install.
const scripts = Object.keys(JSON.parse(read("package.json")).scripts).filter((name) => name !== "prepare");
const ways = await waysDown();

/** What, how much it is, how much it is to be at most, how much it may be now. */
const rows = [
  ["files without tests", sources.filter((file) => !file.startsWith("packages/stemma/")).length, 750, 750],
  ["files of the fullest folder", mostOf(folders), 20, 20],
  ["files with the commonest name", mostOf(names), 3, 3],
  ["lines of product code", sum([...product, ...functions].map(linesOf)), 60_000, 99_250],
  ["lines of README", linesOf("README.md"), 100, 100],
  ["lines of CONTRIBUTING", linesOf("CONTRIBUTING.md"), 60, 60],
  ["words of ARCHITECTURE", wordsOf("ARCHITECTURE.md"), 1200, 1200],
  ["words of docs/", sum(pages.map(wordsOf)), 45_000, 56_000],
  ["pages for users", pages.filter((page) => !page.startsWith("docs/background/")).length, 20, 34],
  [
    "docstrings that begin with The same, See or What",
    docstrings.filter((text) => /^(The same|See |What )/.test(text)).length,
    0,
    0,
  ],
  ["scripts of the root's package.json", scripts.length, 5, 5],
  ...[
    ["appendMessage", 12, 24, 40, 130],
    ["getHistory", 10, 13, null, null],
    ["search", 20, 25, null, null],
    ["prepareTurn", 35, 43, null, null],
  ].flatMap(([call, files, filesNow, functions, functionsNow]) => [
    [`files that ${call} runs`, ways[call].files, files, filesNow],
    ...(functions === null ? [] : [[`functions that ${call} runs`, ways[call].functions, functions, functionsNow]]),
  ]),
];

for (const [what, value, goal, now] of rows) {
  const verdict = value <= goal ? "" : value <= now ? "not yet" : `MORE THAN ${now}`;
  console.log(`${what.padEnd(52)}${String(value).padStart(8)}  ≤ ${String(goal).padEnd(8)}${verdict}`);
  if (value > now && value > goal) process.exitCode = 1;
}
process.exit();
