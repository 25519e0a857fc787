import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { words } from "../../model/query.js";
import { documentTerms } from "../../model/terms.js";
import { utf8Length } from "../../model/text.js";
import { MAX_UNIT_BYTES, sqliteWords } from "./words.js";

/** What FTS5 makes of each text. */
function termsOfSqlite(texts: readonly string[]): string[][] {
  const db = new Database(":memory:");
  db.exec(`CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2');
           CREATE VIRTUAL TABLE v USING fts5vocab(t, instance); BEGIN`);
  const insert = db.prepare("INSERT INTO t (rowid, x) VALUES (?, ?)");
  for (const [index, text] of texts.entries()) insert.run(index, sqliteWords(text));
  const found: string[][] = texts.map(() => []);
  const rows = db.prepare<[], { doc: number; term: string }>("SELECT doc, term FROM v ORDER BY doc, offset").all();
  for (const { doc, term } of rows) found[doc]?.push(term);
  db.close();
  return found;
}

// All of the two planes that hold nearly every letter, and some of the others.
const characters = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code > 0 && (code < 0xd800 || code > 0xdfff) && (code < 0x20000 || code % 64 === 0))
  .map((code) => String.fromCodePoint(code));

describe("words for SQLite", () => {
  it("end where those of every other engine do, whatever characters they are of", () => {
    const texts = characters.map((character) => `ab${character}cd`);
    const terms = termsOfSqlite(texts);
    const wrong = texts.filter((text, index) => terms[index]?.length !== words(text).length);
    expect(wrong).toEqual([]);
  });

  it("are the terms of other engines where these are of letters alone", () => {
    const texts = [
      "love it🥰",
      "hello🤔world",
      "x\u0378y",
      "Straßenbahn ﬀ",
      "ΣΊΣΥΦΟΣ",
      "ϵϑ\u00b5ϰ ſo",
      "йод \u0438\u0306од",
      "cafe\u0301",
      "漢字kanji",
      "𞤀𞤁",
    ];
    expect(termsOfSqlite(texts)).toEqual(texts.map(documentTerms));
  });

  it("keep the vowels and points of a word", () => {
    for (const text of ["दुनिया", "กิน", "كِتَاب", "தமிழ்"]) {
      const [terms] = termsOfSqlite([text]);
      expect(terms?.length).toBe(documentTerms(text).length);
      expect(new Set(termsOfSqlite([text, text.replaceAll(/\p{M}/gu, "")]).map((found) => found.join(" "))).size).toBe(
        2,
      );
    }
  });

  it("take no more room than they are said to", () => {
    const bytes = characters.map((character) => utf8Length(`${sqliteWords(character)} `) / character.length);
    expect(bytes.reduce((most, each) => Math.max(most, each))).toBeLessThanOrEqual(MAX_UNIT_BYTES);
  });
});
