import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";
import { pages } from "./snippets.js";

/** The model that everything is shown with, and a second one where two are needed. */
const NAMES = ["claude-sonnet-5-5", "claude-haiku-5-5"];

it("docs and examples name one model", () => {
  const examples = execFileSync("git", ["ls-files", "examples"], { cwd: ROOT, encoding: "utf8" })
    .split("\n")
    .filter((path) => /\.(md|mjs|tsx?)$/.test(path));
  const others = [...pages(), ...examples].flatMap((path) => {
    const found = readFileSync(ROOT + path, "utf8").matchAll(
      /\b(?:claude-(?:sonnet|haiku|opus)|gpt|gemini)-\d[\w.-]*/g,
    );
    return [...found].filter(([name]) => !NAMES.includes(name)).map(([name]) => `${path}: ${name}`);
  });
  expect(others).toEqual([]);
});
