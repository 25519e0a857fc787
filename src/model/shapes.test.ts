import { describe, expect, it } from "vitest";
import { escapeRuns, unescapeRuns } from "../context/escape.js";
import { fitDocument } from "../storage/sqlite/fit-document.js";
import { sqliteWords } from "../storage/sqlite/words.js";
import { keyOfTitle } from "../tools/entry-key.js";
import { encodeMessage } from "./codec.js";
import { parseQuery, querySequences, words } from "./query.js";
import { markedSnippet } from "./snippet.js";
import { documentTerms } from "./terms.js";

const LENGTH = 5 * 1024 * 1024;
const UNITS =
  'abcdefghij|ABC|éàü|漢字|🎉|e\u0301|\u0301|слово|x |"|\u0001\u001f|\\|═|\\═|\n| |-|.-|𝔘|𠀀|क्षि|ภาษา|كلمة|\ud800|“';

describe("5 MB", () => {
  it.each(UNITS.split("|"))("of %j overflow no stack", (unit) => {
    const text = unit.repeat(Math.ceil(LENGTH / unit.length));
    encodeMessage({ id: "a", role: "user", parts: [{ type: "text", text }] });
    documentTerms(text);
    sqliteWords(text);
    fitDocument(text, 1_900_000);
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
