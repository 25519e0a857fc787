import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { parseQuery } from "./query.js";
import { stem } from "./stemmer.js";
import { documentTerms, queryTerms } from "./terms.js";

const BEGINNINGS = "a b tr ca rel hop fall fil conf sky hap y by toy ee agr con oper dig sens ang zz caress pon".split(
  " ",
);
const ENDINGS = [
  ..."s es ed ing ies ation ational tional enci anci izer logi bli alli entli eli ousli ization ator".split(" "),
  ..."alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance".split(" "),
  ..."ence er ic able ible ant ement ment ent sion tion ion ou ism ate iti ous ive ize y e ll eed".split(" "),
];

/** What SQLite's FTS5 makes of each text. */
function termsOfSqlite(texts: readonly string[]): string[][] {
  const db = new Database(":memory:");
  db.exec(`CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2');
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
  it("stem every word as SQLite's porter does", () => {
    const words = BEGINNINGS.flatMap((start) =>
      ENDINGS.flatMap((end) => [start + end, ...ENDINGS.slice(0, 12).map((last) => start + end + last)]),
    );
    expect(words.map(stem)).toEqual(termsOfSqlite(words).map(([term]) => term));
  });

  it("stem words with other letters as SQLite's porter does", () => {
    const starts = ["Grüß", "ø", "straß", "łæ", "σίσυφο", "при", "ßy", "bæg", `${"ß".repeat(31)}`, "xß"];
    const texts = starts.flatMap((start) => ENDINGS.map((end) => start + end));
    expect(texts.map(documentTerms)).toEqual(termsOfSqlite(texts));
  });

  it("fold case and the diacritics of Latin letters as SQLite's unicode61 does", () => {
    const texts = [
      "Ärger über Škoda, naïve CAFÉ",
      "Ångström Việt Nam",
      "ΣΊΣΥΦΟΣ",
      "ЁЛКА и Йод",
      "don't C++ x86_64 3.14",
      "ﬀ ß Ł ø",
    ];
    expect(texts.map(documentTerms)).toEqual(termsOfSqlite(texts));
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
});
