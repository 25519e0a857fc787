import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { isStandIn } from "../../../../../test/runtimes/stand-in.js";
import { utf8Length } from "../../../../model/src/messages/storable-text.js";
import { rarityOf } from "../../../../model/src/search/rank.js";
import { documentTerms } from "../../../../model/src/search/terms.js";
import type { IndexedDocument, RowRange } from "../../../src/engine/dialect.js";
import type { Operation, Statement } from "../../../src/engine/operation.js";
import { sqliteSearch } from "../../../src/sqlite/full-text.js";
import { createSearchTables } from "../../../src/sqlite/schema.js";

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
  const { add } = sqliteSearch(900_000_000, false, false);
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

/** An index of documents whose first row is `first`. Gives how it answers, what it was asked, and how FTS5 itself scores. */
function openIndex(documents: readonly string[], first: number) {
  const db = new Database(":memory:");
  const asked: string[] = [];
  const answer = ({ sql, values, rows = [values], as }: Statement) => {
    asked.push(sql);
    const statement = db.prepare(sql);
    if (!statement.reader) return rows.map((row) => statement.run(...row));
    return statement.pluck(as === "column").all(...values);
  };
  const drive = <T>(operation: Operation<T>): T => {
    let step = operation.next();
    while (!step.done) step = operation.next(answer(step.value) as never);
    return step.value;
  };
  drive(createSearchTables());
  const { add, matches } = sqliteSearch(900_000_000, false, false);
  drive(add("messages", inRows(documents, first)));
  const ask = (words: readonly string[], range: RowRange, limit = 250) => {
    const sequences = words.map((word) => [word]);
    const found = drive(matches(sequences, range, limit)).sequences;
    return found.map(({ numbers, scores, others, complete }) => ({ numbers, scores, others, complete }));
  };
  const scored = db.prepare<[string, number], { n: number; score: number }>(
    "SELECT rowid AS n, -bm25(assistant_fts) AS score FROM assistant_fts WHERE assistant_fts MATCH ? AND rowid >= ?",
  );
  const count = (where: string, ...values: string[]) =>
    db
      .prepare<string[], number>(`SELECT count(*) FROM assistant_fts ${where}`)
      .pluck()
      .get(...values) as number;
  // As FTS5 scores them, but for how much a word tells: of one that more than half of the documents hold it says nothing.
  const bm25 = (word: string, from: number) => {
    const [documents, holding] = [count(""), count("WHERE assistant_fts MATCH ?", word)];
    const own = Math.max(1e-6, Math.log((documents - holding + 0.5) / (holding + 0.5)));
    const rarity = rarityOf(documents, holding);
    return scored.all(word, from).map(({ n, score }) => ({ n, score: (score * rarity) / own }));
  };
  return {
    db,
    asked,
    ask,
    bm25,
    add: (rows: IndexedDocument[]) => drive(add("messages", rows)),
  };
}

const indexOf = (documents: readonly string[], first: number) => openIndex(documents, first).ask;

it("gives of a short range in a large index, and of a long one, the newest rows that hold a word, with the scores of BM25", () => {
  const SPAN = 2 ** 28;
  const texts = Array.from({ length: 27_000 }, (_, row) =>
    [row % 3 === 0 ? "third" : "", row % 50 === 0 ? "seldom" : "", `day${row % 5}`, "filler ".repeat(row % 4)].join(
      " ",
    ),
  );
  // Sessions of 30 messages, and a last one of 6,000.
  const rowIdOf = (row: number) => (row < 21_000 ? (1 + Math.floor(row / 30)) * SPAN + (row % 30) : 900 * SPAN + row);
  const index = openIndex([], 1);
  index.add(texts.map((document, row) => ({ sessionId: "s", rowId: rowIdOf(row), document })));
  for (const session of [1, 350, 700, 900]) {
    const [lo, hi] = [session * SPAN, (session + 1) * SPAN - 1];
    for (const words of [["third"], ["seldom", "third"], ["day1", "day2", "seldom"], ["nothing", "third"]]) {
      const found = index.ask(words, { lo, hi, sessionId: "s" });
      for (const [at, { numbers, scores, others }] of found.entries()) {
        const word = words[at] as string;
        const rows = texts.flatMap((text, row) =>
          rowIdOf(row) >= lo && rowIdOf(row) <= hi && text.split(" ").includes(word) ? [rowIdOf(row)] : [],
        );
        expect(numbers).toEqual(rows.slice(Math.max(0, rows.length - numbers.length)));
        expect(numbers.length).toBeGreaterThanOrEqual(Math.min(rows.length, 30));
        expect(others.filter((row) => !rows.includes(row))).toEqual([]);
        const bm25 = new Map(index.bm25(word, 0).map(({ n, score }) => [n, score]));
        for (const [at, n] of numbers.entries()) expect(scores[at]).toBeCloseTo(bm25.get(n) as number, 6);
      }
    }
  }
});

it("gives of several ranges the rows that an index of them alone gives, with the scores of a word that each holds once", () => {
  const SPAN = 2 ** 28;
  const textOf = (row: number) =>
    ["common", row % 100 === 0 ? "rare" : "", row % 7 === 0 ? "middle" : "", "filler ".repeat(row % 7)].join(" ");
  const sessions = Array.from({ length: 40 }, (_, session) =>
    Array.from({ length: 60 }, (_, row) => session * 60 + row),
  );
  const documents = sessions.flatMap((rows, session) =>
    rows.map((row, index) => ({
      sessionId: `s${session}`,
      rowId: (session + 3) * SPAN + index,
      document: textOf(row),
    })),
  );
  const [all, some] = [openIndex([], 1), openIndex([], 1)];
  const isSome = (session: number) => session % 5 === 0 || session > 36;
  all.add(documents);
  some.add(documents.filter((_, index) => isSome(Math.floor(index / 60))));
  const ranges = sessions.flatMap((_, session) =>
    isSome(session) ? [[(session + 3) * SPAN, (session + 4) * SPAN - 1] as const] : [],
  );
  const lo = 3 * SPAN;
  const range = { lo, hi: 43 * SPAN - 1, sessionId: null, several: { ids: [], ranges } };
  for (const words of [["common"], ["rare"], ["rare", "common"], ["common", "middle", "rare"], ["nothing", "middle"]]) {
    for (const limit of [20, 250]) {
      const found = all.ask(words, range, limit);
      const expected = some.ask(words, { lo, hi: 43 * SPAN - 1, sessionId: null }, limit);
      const withoutScores = (each: (typeof found)[number]) => ({ ...each, scores: each.scores.length });
      expect(found.map(withoutScores)).toEqual(expected.map(withoutScores));
      for (const [index, { numbers, scores }] of found.entries()) {
        const bm25 = new Map(all.bm25(words[index] as string, 0).map(({ n, score }) => [n, score]));
        for (const [at, n] of numbers.entries()) expect(scores[at]).toBeCloseTo(bm25.get(n) as number, 6);
      }
    }
  }
});

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

describe("a word that tens of thousands of messages hold", () => {
  // In three of seven, once. Some are so long that their length takes two bytes.
  const texts = Array.from({ length: 63_000 }, (_, row) =>
    [
      row % 7 < 3 ? "common" : `odd${row}`,
      row % 3_000 === 0 ? "rare" : "",
      " filler".repeat(row % 100 === 0 ? 200 : row % 5),
    ].join(" "),
  );
  const lo = 7 * 2 ** 28;
  const range = { lo, hi: lo + 2 ** 28 - 1, sessionId: "s" };
  const index = openIndex(texts, lo);

  it("is scored by BM25", () => {
    for (const within of [null, range]) {
      const [found] = index.ask(["common"], within);
      const expected = index.bm25("common", found?.numbers[0] ?? 0);
      expect(found?.numbers).toEqual(expected.map(({ n }) => n));
      expect(found?.numbers).toHaveLength(250);
      for (const [at, { score }] of expected.entries()) expect(found?.scores[at]).toBeCloseTo(score, 7);
      expect(found?.complete).toBe(false);
      expect(index.ask(["common"], within)).toEqual([found]);
    }
  });

  it("is counted by the first search alone", () => {
    index.ask(["common"], null);
    const first = index.asked.length;
    index.ask(["common"], range);
    index.ask(["common", "filler"], null);
    const later = index.asked.slice(first);
    expect(later.length).toBeGreaterThan(0);
    expect(later.filter((sql) => sql.includes("bm25")).length).toBe(1);
    index.ask(["common", "filler"], range);
    expect(index.asked.slice(first + later.length).join()).not.toContain("bm25");
  });

  it("stands beside a rarer one, of which alone only the first search reads lengths", () => {
    const expected = index.bm25("rare", lo);
    const scores = index.ask(["rare"], null)[0]?.scores ?? [];
    const first = index.asked.length;
    const later = index.ask(["rare"], null)[0]?.scores ?? [];
    expect(index.asked.slice(0, first).join()).toContain("d.sz");
    expect(index.asked.slice(first).join()).not.toContain("d.sz");
    for (const [at, { score }] of expected.entries()) {
      expect(scores[at]).toBeCloseTo(score, 7);
      expect(later[at]).toBeCloseTo(score, 7);
    }
  });

  it("is found beside a rare one, and as far as a search goes", () => {
    for (const within of [null, range]) {
      const [rare, common] = index.ask(["rare", "common"], within);
      expect(rare?.numbers).toEqual(texts.flatMap((text, row) => (text.includes("rare") ? [lo + row] : [])));
      expect(common?.others).toEqual(
        texts.flatMap((text, row) => (text.includes("rare") && text.includes("common") ? [lo + row] : [])),
      );
      for (const words of [["common"], ["rare", "common"]]) {
        const all = index.ask(words, within, 31_250).at(-1);
        expect(all).toMatchObject({ complete: true, others: [] });
        expect(all?.numbers).toHaveLength(27_000);
      }
    }
  });

  it("is scored in a range that has few of its matches", () => {
    const few = { ...range, hi: lo + 50 };
    const [rare, common] = index.ask(["rare", "common"], few);
    expect([rare?.complete, common?.complete]).toEqual([true, true]);
    expect(common?.numbers).toHaveLength(23);
    expect(index.ask(["common"], few)[0]).toMatchObject({ complete: true, numbers: common?.numbers });
  });

  it("is measured anew when the store has grown by a tenth", () => {
    const before = index.ask(["common"], null)[0]?.scores.at(-1) as number;
    index.add(
      inRows(
        Array.from({ length: 7_000 }, (_, row) => `other${row}${" filler".repeat(150)}`),
        lo + texts.length,
      ),
    );
    const expected = index.bm25("common", lo + texts.length - 10).at(-1)?.score as number;
    expect(expected).toBeGreaterThan(1.2 * before);
    expect(index.ask(["common"], null)[0]?.scores.at(-1)).toBeCloseTo(expected, 7);
  });
});

it("tells matches of a word that every one of many messages holds from each other, also beside a very long one", () => {
  const texts = Array.from(
    { length: 26_000 },
    (_, row) => `common${" other".repeat(row === 25_990 ? 400_000 : row % 5)}`,
  );
  const index = openIndex(texts, 1);
  for (const _ of ["the first time", "again"]) {
    const scores = index.ask(["common"], null)[0]?.scores ?? [];
    expect(new Set(scores).size).toBe(6);
    expect(Math.min(...scores)).toBeGreaterThan(0);
  }
});

// node:sqlite lets nobody write to an index's own tables.
it.skipIf(isStandIn)("scores a message whose length is missing as one of usual length", () => {
  const index = openIndex(
    Array.from({ length: 40_000 }, (_, row) => `common other${row}`),
    1,
  );
  const before = index.ask(["common"], null);
  index.db.unsafeMode(true);
  index.db.exec("DELETE FROM assistant_fts_docsize WHERE id = 39990");
  expect(index.ask(["common"], null)).toEqual(before);
});
