import { describe, expect, it } from "vitest";
import { escapeRuns, unescapeRuns } from "../../../../session/src/context/prompt.js";
import { keyOfTitle } from "../../../src/messages/entry-key.js";
import { parseQuery, querySequences } from "../../../src/search/query.js";
import { markedSnippet } from "../../../src/search/snippet.js";
import { documentTerms } from "../../../src/search/terms.js";
import { words } from "../../../src/search/words.js";

const LENGTH = 2 * 1024 * 1024;
const UNITS = ["abcdefghij", "éàü", "漢字", "🎉", "e\u0301", "x ", '"', "\u0001\u001f", "═", "𝔘"];

describe("2 MB", () => {
  it.each(UNITS)("of %j overflow no stack", (unit) => {
    const text = unit.repeat(Math.ceil(LENGTH / unit.length));
    documentTerms(text);
    expect(querySequences(parseQuery(text)).length).toBeLessThanOrEqual(256);
    expect(markedSnippet(text, parseQuery("needle 京都 abc")).length).toBeLessThan(300);
    expect(unescapeRuns(escapeRuns(text)) === text).toBe(true);
    expect(keyOfTitle(text).length).toBeLessThan(100);
  });

  it("of one word are one word", () => {
    expect(words("ab".repeat(LENGTH / 2))).toHaveLength(1);
    expect(words(`${"x".repeat(10_000)} ${"y".repeat(10_000)}`)).toHaveLength(2);
    expect(words("漢".repeat(20_001))).toHaveLength(20_001);
    expect(words(`${"x".repeat(10_000)}${"漢".repeat(2)}z`)).toHaveLength(4);
  });
});
