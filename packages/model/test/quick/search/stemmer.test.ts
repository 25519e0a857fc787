import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { stem } from "../../../src/search/terms.js";

const LIST = new URL("../../../../../test/fixtures/snowball-english.txt.gz", import.meta.url);
const pairs = gunzipSync(readFileSync(LIST))
  .toString()
  .trimEnd()
  .split("\n")
  .map((line) => line.split("\t") as [word: string, stem: string]);

describe("the stemmer", () => {
  it("gives each word of Snowball's list the stem that Snowball gives it", () => {
    expect(pairs.length).toBeGreaterThan(42_000);
    expect(pairs.filter(([word, expected]) => stem(word) !== expected)).toEqual([]);
  });

  it("brings together what a user takes for one word", () => {
    for (const forms of [
      "deploy deploys deployed deploying deployment",
      "sky skies",
      "die dies died dying",
      "run runs running",
    ]) {
      expect(new Set(forms.split(" ").map(stem)).size).toBe(1);
    }
  });

  it("leaves words of other scripts and alphabets as they are, whatever they end on", () => {
    for (const word of ["утро", "καλημέρα", "天", "दुनिया", "ßß", "1s", "42"]) expect(stem(word)).toBe(word);
  });

  it("takes a word of any length", () => {
    expect(stem(`${"ab".repeat(1_000_000)}ing`)).toBe("ab".repeat(1_000_000));
  });
});
