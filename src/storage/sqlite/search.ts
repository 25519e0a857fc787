import { joinedTerms } from "../../model/joined-terms.js";
import { FEWEST, needOthers, RAREST } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import { column, type Operation, run, runEach } from "../engine/operation.js";
import {
  type FoundMatches,
  INDEX_TABLES,
  type IndexedDocument,
  type RowRange,
  type SearchDialect,
  type SearchIndex,
} from "../engine/search-dialect.js";
import { divided } from "../operations/row-portions.js";
import { searchEntries } from "./entry-search.js";
import { fitTerms } from "./fit-terms.js";
import { sizeOfIndex } from "./index-size.js";
import { countable, countMatches, findOthers, MANY, rarestFirst } from "./match-queries.js";
import { quote } from "./quote.js";
import { isApart, type SearchedRows, searchedRows } from "./rows-in-range.js";
import { scoreApart } from "./score-apart.js";
import { type KnownIndex, scoreNewest } from "./score-newest.js";
import { INTEGER } from "./search-tables.js";
import { isCommon, WordRarities } from "./word-rarities.js";

const ADD: Record<SearchIndex, string> = {
  messages: `INSERT INTO ${INDEX_TABLES.messages} (rowid, terms) VALUES (?, ?)`,
  entries: `INSERT INTO ${INDEX_TABLES.entries} (rowid, terms) VALUES (?, ?)`,
};

// Each index notes the length of every document in a table.
const ROWS: Record<SearchIndex, string> = {
  messages: `(SELECT id AS n FROM ${INDEX_TABLES.messages}_docsize UNION ALL SELECT n FROM assistant_unindexed)`,
  entries: `(SELECT id AS n FROM ${INDEX_TABLES.entries}_docsize)`,
};

/**
 * Full-text search with FTS5, which keeps no text of its own, and no more of a document than one value of `maxBytes` holds. It
 * is given the terms that every store has. Its own words would be others: it knows an older stemmer, and Unicode of 2012.
 */
export function sqliteSearch(maxBytes: number, indexesLater: boolean): SearchDialect {
  function* add(index: SearchIndex, documents: readonly IndexedDocument[]): Operation<void> {
    const indexed = documents.filter(({ document }) => document !== "");
    // All their terms are found before any are written: between the statements of an engine that takes twice as long.
    const rows = indexed.map(({ rowId, document }) => [rowId, fitTerms(joinedTerms(document), maxBytes)]);
    yield* runEach(ADD[index], rows);
  }
  function* remove(index: SearchIndex, _sessionId: string | null, lo: number, hi: number): Operation<void> {
    yield* hi - lo < FEW ? removeRange(index, lo, hi) : removeMany(index, lo, hi);
    if (index === "messages") yield* run("DELETE FROM assistant_unindexed WHERE n BETWEEN ? AND ?", lo, hi);
  }
  function* replace(index: SearchIndex, documents: readonly IndexedDocument[]): Operation<void> {
    const [first, last] = [documents[0], documents.at(-1)];
    if (first !== undefined && last !== undefined) yield* remove(index, null, first.rowId, last.rowId);
    yield* add(index, documents);
  }
  const rarities = new WordRarities();
  function* matches(sequences: TermSequences, range: RowRange, limit: number): Operation<FoundMatches> {
    const size = yield* sizeOfIndex("messages");
    return yield* findMatches(sequences, yield* searchedRows(range, size.documents), limit, { size, rarities });
  }
  return { rows: ROWS, mayLag: true, indexesLater, add, replace, remove, matches, entries: searchEntries };
}

/** So many documents are removed as one is. */
const FEW = 100;

function* removeRange(index: SearchIndex, lo: number, hi: number): Operation<void> {
  yield* run(`DELETE FROM ${INDEX_TABLES[index]} WHERE rowid BETWEEN ${INTEGER} AND ${INTEGER}`, lo, hi);
}

// After each statement FTS5 would merge what it noted of deletions so far, which takes ten times as long as they do. That is
// left to who writes next.
function* removeMany(index: SearchIndex, lo: number, hi: number): Operation<void> {
  const table = INDEX_TABLES[index];
  const end = (which: "min" | "max") => `SELECT ${which}(id) AS id FROM ${table}_docsize WHERE id BETWEEN ? AND ?`;
  const [least = null] = yield* column<number | null>(end("min"), lo, hi);
  const [most = null] = yield* column<number | null>(end("max"), lo, hi);
  if (least === null || most === null) return;
  const set = `INSERT INTO ${table} (${table}, rank) VALUES ('deletemerge', ${INTEGER})`;
  yield* run(set, 0);
  yield* divided([{ branch: 0, lo: least, hi: most }], ([some]) => removeRange(index, some.lo, some.hi));
  yield* run(set, DELETE_MERGE);
}

/** What FTS5 has where nothing is said: the percentage of documents of a part that were removed, from which on it is merged. */
const DELETE_MERGE = 10;

function* findMatches(
  sequences: TermSequences,
  range: SearchedRows,
  limit: number,
  index: KnownIndex,
): Operation<FoundMatches> {
  const { documents } = index.size;
  const found = sequences.map((sequence) => {
    const match = quote(sequence);
    return countable(match, isCommon(index.rarities.find(match, documents), documents));
  });
  // A single sequence is scored as far as it goes, however many matches it has.
  if (found.length > 1) for (const matches of found) yield* countMatches(matches, range, Math.max(MANY, limit + 1));
  let left = limit;
  for (const [rank, matches] of [...found].sort(rarestFirst).entries()) {
    const take = Math.min(matches.documents, Math.max(left, rank < RAREST ? FEWEST : 0));
    const scored = isApart(range)
      ? scoreApart(matches, range, take, index)
      : scoreNewest(matches.match, range, take, index);
    if (take > 0) Object.assign(matches, yield* scored);
    const count = matches.numbers.length;
    matches.complete = found.length > 1 ? count === matches.documents : count < take;
    left -= take;
  }
  if (needOthers(found)) yield* findOthers(range, found);
  return { sequences: found, branches: null, sessions: null };
}
