import { describe, expect, it } from "vitest";
import { utf8Length } from "../../model/text.js";
import { fitDocument } from "./fit-document.js";
import { sqliteWords } from "./words.js";

const MAX = 1_000;
const filler = "so it goes on and on ".repeat(100);

describe("fitDocument", () => {
  it("leaves a document that fits as it is", () => {
    expect(fitDocument("two  words", MAX)).toBe("two  words");
    expect(fitDocument("a".repeat(MAX), MAX)).toBe("a".repeat(MAX));
  });

  it("keeps the beginning, and each later word once", () => {
    const fitted = fitDocument(`${filler} until the xylophone plays`, MAX);
    expect(fitted.startsWith("so it goes on and on so it goes")).toBe(true);
    expect(fitted).toMatch(/ until the xylophone plays$/);
  });

  it("fits when the characters of an unspaced script are set apart", () => {
    const fitted = fitDocument(`${"会話の続き。 ".repeat(200)}終わり`, MAX);
    expect(utf8Length(sqliteWords(fitted))).toBeLessThanOrEqual(MAX);
    expect(fitted).toMatch(/終わり$/);
  });

  it("leaves out what there is no room for, and goes on with shorter words", () => {
    const fitted = fitDocument(`${filler}${"x".repeat(2 * MAX)} end`, MAX);
    expect(fitted).not.toContain("xx");
    expect(fitted).toMatch(/ end$/);
    expect(utf8Length(fitDocument("x".repeat(2 * MAX), MAX))).toBeLessThanOrEqual(MAX);
  });

  it("cuts between words", () => {
    expect(
      fitDocument(`${"word ".repeat(500)}`, MAX)
        .split(/\s+/)
        .filter((word) => !["word", ""].includes(word)),
    ).toEqual([]);
  });
});
