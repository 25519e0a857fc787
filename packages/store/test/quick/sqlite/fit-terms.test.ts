import { describe, expect, it } from "vitest";
import { utf8Length } from "../../../../model/src/messages/storable-text.js";
import { joinedTerms } from "../../../../model/src/search/joined-terms.js";
import { fitTerms } from "../../../src/sqlite/full-text.js";

const MAX = 1_000;
const filler = "so it goes on and on ".repeat(100);
const indexed = (document: string) => fitTerms(joinedTerms(document), MAX);

describe("fitTerms", () => {
  it("leaves the terms of a document that fits as they are", () => {
    expect(indexed("two  words, two words")).toBe("two word two word");
    expect(fitTerms("a".repeat(MAX), MAX)).toBe("a".repeat(MAX));
  });

  it("keeps the beginning, and each later term once", () => {
    const fitted = indexed(`${filler} until the xylophone plays`);
    expect(fitted.startsWith("so it goe on and on so it goe")).toBe(true);
    expect(fitted).toMatch(/ until the xylophon play$/);
    expect(utf8Length(fitted)).toBeLessThanOrEqual(MAX);
  });

  it("fits where a character is three bytes and a term of its own", () => {
    const fitted = indexed(`${"会話の続き。 ".repeat(200)}終わり`);
    expect(utf8Length(fitted)).toBeLessThanOrEqual(MAX);
    expect(fitted).toMatch(/終 わ り$/);
  });

  it("leaves out what there is no room for, and goes on with shorter terms", () => {
    const fitted = fitTerms(`${joinedTerms(filler)} ${"x".repeat(2 * MAX)} end`, MAX);
    expect(fitted).not.toContain("xx");
    expect(fitted).toMatch(/ end$/);
    expect(fitTerms(`${"x".repeat(2 * MAX)} end`, MAX)).toBe("end");
  });
});
