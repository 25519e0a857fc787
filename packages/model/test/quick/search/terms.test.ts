import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { parseQuery, querySequences } from "../../../src/search/query.js";
import { documentTerms, queryTerms } from "../../../src/search/terms.js";

/** What FTS5, with its tokenizer of words in any script, makes of each text. */
function wordsOfSqlite(texts: readonly string[]): string[][] {
  const db = new Database(":memory:");
  db.exec(`CREATE VIRTUAL TABLE t USING fts5(x, tokenize='unicode61 remove_diacritics 2');
           CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)`);
  const insert = db.prepare("INSERT INTO t (rowid, x) VALUES (?, ?)");
  for (const [index, text] of texts.entries()) insert.run(index, text);
  const found: string[][] = texts.map(() => []);
  const rows = db.prepare<[], { doc: number; term: string }>("SELECT doc, term FROM v ORDER BY doc, offset").all();
  for (const { doc, term } of rows) found[doc]?.push(term);
  db.close();
  return found;
}

describe("terms", () => {
  it("are stemmed words", () => {
    expect(documentTerms("Deployments were failing; skies, dying")).toEqual(["deploy", "were", "fail", "sky", "die"]);
  });

  it("fold case and the diacritics of Latin letters as SQLite's unicode61 does", () => {
    const texts = [
      "Ärger über Škoda, naïve CAFÉ",
      "Ångström Việt Nam",
      "ΣΊΣΥΦΟΣ",
      "ЁЛКА и Йод",
      "C++ x86_64 3.14",
      "Ł ø",
    ];
    const unstemmed = ["naïve", "Ångström"];
    expect(unstemmed.map(documentTerms)).toEqual([["naiv"], ["angstrom"]]);
    expect(texts.slice(1).map(documentTerms)).toEqual(wordsOfSqlite(texts.slice(1)));
    expect(documentTerms(texts[0] as string)).toEqual(["arger", "uber", "skoda", "naiv", "cafe"]);
  });

  it("take a decomposed letter for the composed one", () => {
    expect(documentTerms("cafe\u0301")).toEqual(documentTerms("café"));
  });

  it("take each character of a script without spaces for a word", () => {
    expect(documentTerms("我爱 TypeScript编程")).toEqual(["我", "爱", "typescript", "编", "程"]);
  });

  it("never grow beyond what an index takes, and hold no half of a surrogate pair", () => {
    const [long] = documentTerms(`${"x".repeat(99)}${"𝒳".repeat(5000)}`);
    expect(long?.length).toBeLessThanOrEqual(100);
    expect(long?.isWellFormed()).toBe(true);
    expect(documentTerms("\ud800 a\0b")).toEqual(["a", "b"]);
  });

  it.each([
    ["letters", "x"],
    ["letters with accents", "é"],
    ["letters beyond 16 bits", "𝒳"],
    ["combining marks", "\u0301"],
    ["letters and marks", "a\u0301"],
    ["digits", "1"],
    ["signs that are no words", "🥰"],
    ["spaces", " "],
  ])("are made of five million %s without one that parts them", (_, unit) => {
    const text = unit.repeat(5_000_000 / unit.length);
    expect(documentTerms(text).length).toBeLessThanOrEqual(1);
    expect(queryTerms(parseQuery(text)).length).toBeLessThanOrEqual(64);
  });

  it("of a query are its words, its phrases, and unspaced runs whole and in pairs", () => {
    expect(queryTerms(parseQuery('the running "blue whales"'))).toEqual([
      ["run"],
      ["blue"],
      ["whale"],
      ["blue", "whale"],
    ]);
    expect(queryTerms(parseQuery("北京市"))).toEqual([
      ["北", "京", "市"],
      ["北", "京"],
      ["京", "市"],
    ]);
    expect(queryTerms(parseQuery("猫"))).toEqual([["猫"]]);
    expect(queryTerms(parseQuery("…"))).toEqual([]);
  });

  it("of a query come from sequences that are made once", () => {
    const query = parseQuery('blue whales "blue whales"');
    expect(querySequences(query)).toBe(querySequences(query));
  });
});
