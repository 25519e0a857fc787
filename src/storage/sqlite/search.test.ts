import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { documentTerms } from "../../model/terms.js";
import { utf8Length } from "../../model/text.js";
import type { Operation, Statement } from "../engine/operation.js";
import type { IndexedDocument, RowRange } from "../engine/search-dialect.js";
import { sqliteSearch } from "./search.js";
import { createSearchTables } from "./search-tables.js";

/** Documents whose first row is `first`. */
function inRows(documents: readonly string[], first: number): IndexedDocument[] {
  return documents.map((document, index) => ({ sessionId: "", rowId: first + index, document }));
}

/** What the index holds of each document. */
function termsOfIndex(documents: readonly string[]): string[][] {
  const db = new Database(":memory:");
  const execute = ({ sql, values, rows = [values] }: Statement) => {
    const statement = db.prepare(sql);
    for (const row of rows) statement.run(...row);
  };
  const drive = (operation: Operation<unknown>) => {
    for (let step = operation.next(); !step.done; step = operation.next([])) execute(step.value);
  };
  drive(createSearchTables());
  const { add } = sqliteSearch(900_000_000, false);
  db.exec("CREATE VIRTUAL TABLE v USING fts5vocab(assistant_fts, instance); BEGIN");
  drive(add("messages", inRows(documents, 0)));
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

/** An index of documents whose first row is `first`. Gives how it answers. */
function indexOf(documents: readonly string[], first: number) {
  const db = new Database(":memory:");
  const answer = ({ sql, values, rows = [values] }: Statement) => {
    const statement = db.prepare(sql);
    return statement.reader ? statement.all(...values) : rows.map((row) => statement.run(...row));
  };
  const drive = <T>(operation: Operation<T>): T => {
    let step = operation.next();
    while (!step.done) step = operation.next(answer(step.value) as never);
    return step.value;
  };
  drive(createSearchTables());
  const { add, matches } = sqliteSearch(900_000_000, false);
  drive(add("messages", inRows(documents, first)));
  return (words: readonly string[], range: RowRange) => {
    const sequences = words.map((word) => [word]);
    const found = drive(matches(sequences, range, 250)).sequences;
    return found.map(({ numbers, scores, others, complete }) => ({ numbers, scores, others, complete }));
  };
}

it("gives the rows of a range, however large their numbers, as it gives all rows", () => {
  const lo = 5_000 * 2 ** 28;
  const texts = Array.from({ length: 2_100 }, (_, row) =>
    ["common", row % 100 === 0 ? "rare" : "", row % 70 === 0 ? "middle" : "", "filler ".repeat(row % 7)].join(" "),
  );
  const ask = indexOf(texts, lo);
  const range = { lo, hi: lo + 2 ** 28 - 1, sessionId: "s" };
  for (const words of [["common"], ["rare"], ["rare", "common"], ["common", "middle", "rare"]]) {
    const found = ask(words, range);
    expect(found).toEqual(ask(words, null));
    for (const { numbers, scores, others } of found) {
      expect(scores).toHaveLength(numbers.length);
      for (const some of [numbers, others]) expect(some).toEqual([...some].sort((a, b) => a - b));
    }
  }
  const [rare, common] = ask(["rare", "common"], range);
  const rows = texts.flatMap((text, row) => (text.includes("rare") ? [lo + row] : []));
  expect(rare?.numbers).toEqual(rows);
  expect(common?.others).toEqual(rows);
});

it("tells matches of a word that every message holds from each other", () => {
  const ask = indexOf(
    [0, 1, 3, 9, 30].map((others) => `word${" other".repeat(others)}`),
    1,
  );
  const scores = ask(["word"], null)[0]?.scores ?? [];
  expect(new Set(scores).size).toBe(5);
  expect(scores).toEqual([...scores].sort((a, b) => b - a));
});
