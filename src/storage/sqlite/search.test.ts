import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { documentTerms } from "../../model/terms.js";
import { utf8Length } from "../../model/text.js";
import type { Operation, Statement } from "../engine/operation.js";
import { createSearchTables, sqliteSearch } from "./search.js";

/** What the index holds of each document. */
function termsOfIndex(documents: readonly string[]): string[][] {
  const db = new Database(":memory:");
  const execute = ({ sql, values }: Statement) => db.prepare(sql).run(...values);
  const drive = (operation: Operation<unknown>) => {
    for (let step = operation.next(); !step.done; step = operation.next([])) execute(step.value);
  };
  drive(createSearchTables());
  const { add } = sqliteSearch(900_000_000, false);
  db.exec("CREATE VIRTUAL TABLE v USING fts5vocab(assistant_fts, instance); BEGIN");
  for (const [index, document] of documents.entries()) execute(add("messages", "", index, document));
  const found: string[][] = documents.map(() => []);
  const rows = db.prepare<[], { doc: number; term: string }>("SELECT doc, term FROM v ORDER BY doc, offset").all();
  for (const { doc, term } of rows) found[doc]?.push(term);
  db.close();
  return found;
}

// All of the two planes that hold nearly every letter, and some of the others.
const characters = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code > 0 && (code < 0xd800 || code > 0xdfff) && (code < 0x20000 || code % 64 === 0))
  .map((code) => String.fromCodePoint(code));

it("the index of SQLite holds the terms that every store has, whatever characters they are of", () => {
  const texts = characters.map((character) => `ab${character}cd`);
  const terms = termsOfIndex(texts);
  expect(texts.filter((text, index) => terms[index]?.join(" ") !== documentTerms(text).join(" "))).toEqual([]);
});

it("a term takes at most three bytes for each unit of its length", () => {
  const wrong = characters.flatMap(documentTerms).filter((term) => utf8Length(term) > 3 * term.length);
  expect(wrong).toEqual([]);
});
