import fc from "fast-check";
import { expect, it } from "vitest";
import { anyString } from "../../../../../test/helpers/any-string.js";
import { joinedTerms } from "../../../src/search/joined-terms.js";
import { documentTerms } from "../../../src/search/terms.js";

it("is what the terms are, joined", () => {
  const word = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9]{1,12}$/),
    fc.constantFrom("Deployments", "skies", "naïve", "我爱"),
  );
  const between = fc.constantFrom(" ", ", ", "-", "\n", "'", "…", "\u0301", "");
  const text = fc.array(fc.tuple(word, between), { maxLength: 40 }).map((pairs) => pairs.flat().join(""));
  fc.assert(
    fc.property(fc.oneof(text, anyString()), (each) => {
      expect(joinedTerms(each)).toBe(documentTerms(each).join(" "));
    }),
    { numRuns: 2000 },
  );
});

it("takes each character of ASCII as any other text does", () => {
  const characters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  for (const before of ["", "a", "ab", "abc", "abcd"]) {
    const text = characters.map((character) => `${before}${character}dying`).join(" ");
    expect(joinedTerms(text)).toBe(documentTerms(text).join(" "));
  }
  // What a longer text left behind is no part of a shorter one.
  expect(joinedTerms("ÄÖÜ naïve déjà vu")).toBe("aou naiv deja vu");
  expect(joinedTerms("Ab")).toBe("ab");
});

it("keeps words apart that share a place in its table", () => {
  const words = Array.from({ length: 30_000 }, (_, index) => `w${index.toString(36)}`);
  const text = [...words, ...words].join(" ");
  expect(joinedTerms(text)).toBe(documentTerms(text).join(" "));
});

it("reads words of any length", () => {
  for (const length of [99, 100, 101, 1001, 50_000]) {
    const text = `The ${"Run".repeat(length)} ends`;
    expect(joinedTerms(text)).toBe(documentTerms(text).join(" "));
  }
});
