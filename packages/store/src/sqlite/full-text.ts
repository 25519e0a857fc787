import {
  FEWEST,
  joinedTerms,
  needOthers,
  RAREST,
  type Ranked,
  rarityOf,
  type ScopeSize,
  scoreBy,
  scoreIn,
  type TermSequences,
  utf8Length,
} from "@stemma/model";
import {
  bestEntries,
  type FoundMatches,
  INDEX_TABLES,
  type IndexedDocument,
  type RowRange,
  type SearchDialect,
  type SearchIndex,
} from "../engine/dialect.js";
import { all, column, first, type Operation, oneNumber, run, runEach, type SqlValue } from "../engine/operation.js";
import { divided } from "../operations/row-portions.js";
import { lengthOf, lengthsFrom, numbersOf, sizeOfIndex } from "./index-entries.js";
import type { Counted, KnownIndex, ScoredMatches } from "./match-queries.js";
import {
  ascending,
  baseOf,
  countable,
  countMatches,
  findOthers,
  isApart,
  isCommon,
  MANY,
  matchesIn,
  matchQuery,
  rarestFirst,
  type SearchedRows,
  scoreNewest,
  searchedRows,
  WordRarities,
} from "./match-queries.js";
import { INTEGER } from "./schema.js";

/** The query of FTS5 for a sequence of terms. All of it is quoted, so that nothing is an operator. */
export const quote = (sequence: readonly string[]): string => `"${sequence.join(" ")}"`;

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
  return { rows: ROWS, indexesLater, add, replace, remove, matches, entries: searchEntries };
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

/** FTS5's default: the percentage of documents of a part that were removed, from which on it is merged. */
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

const INDEX = INDEX_TABLES.entries;
const ENTRIES = "cf_agents_search_entries e";

/** In a smaller index everything is scored. */
const LARGE = 5_000;
/** To ask whether one entry holds a sequence takes as long as to score so many. */
const SCORED_MEANWHILE = 25;

/**
 * The best matches among the entries `e` for which a condition holds. FTS5 scores all that match, whose ever they are. Where that
 * would take longer, it is asked for each entry of the scope instead, and these are scored by BM25 as if each held a sequence once.
 */
function* searchEntries(sequences: TermSequences, scope: EntryScope, limit: number): Operation<Ranked[]> {
  if (sequences.length === 0) return [];
  const matches = sequences.map(quote);
  const either = matches.join(" OR ");
  const { documents, length } = yield* sizeOfIndex("entries");
  const most = documents < LARGE ? 0 : Math.floor(documents / (SCORED_MEANWHILE * matches.length));
  const some = most === 0 ? 0 : yield* countSome(`${ENTRIES} WHERE ${scope.where}`, scope.values, most);
  const meanwhile = some * matches.length * SCORED_MEANWHILE;
  if (some < most && (yield* countSome(`${INDEX} WHERE ${INDEX} MATCH ?`, [either], meanwhile)) === meanwhile)
    return yield* scoreEach(matches, scope, { documents: some, length }, limit);
  const query = `SELECT e.n AS n, -f.rank AS score FROM ${INDEX} f JOIN ${ENTRIES} ON e.n = f.rowid
       WHERE f.${INDEX} MATCH ? AND ${scope.where} ORDER BY f.rank LIMIT ?`;
  return yield* all<Ranked>(query, either, ...scope.values, limit);
}

/** Entries `e` for which a condition holds. */
interface EntryScope {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

// How many rows there are, up to so many.
const countSome = (rows: string, values: readonly SqlValue[], most: number) =>
  oneNumber(`SELECT count(*) AS count FROM (SELECT 1 FROM ${rows} LIMIT ?)`, ...values, most);

function* scoreEach(
  matches: readonly string[],
  { where, values }: EntryScope,
  size: ScopeSize,
  limit: number,
): Operation<Ranked[]> {
  const query = `SELECT e.n AS n, ${lengthOf("entries")} AS length FROM ${ENTRIES} CROSS JOIN ${INDEX}
     WHERE ${where} AND ${INDEX} MATCH ? AND ${INDEX}.rowid = e.n`;
  const scores = new Map<number, number>();
  for (const match of matches) {
    const holding = yield* all<{ n: number; length: string }>(query, ...values, match);
    const scoreOf = scoreIn(size, holding.length);
    for (const { n: rowId, length } of holding) {
      scores.set(rowId, (scores.get(rowId) ?? 0) + scoreOf(1, numbersOf(length)[0] ?? size.length));
    }
  }
  return bestEntries(scores, limit);
}

/**
 * The terms of a document, with a space between them, as one value of at most `maxBytes` for the index. Of a document that is too large the beginning is
 * kept, and of the rest each term once while there is room: its words are found wherever they stand, phrases near its beginning.
 */
export function fitTerms(whole: string, maxBytes: number): string {
  if (whole.length * 3 <= maxBytes || utf8Length(whole) <= maxBytes) return whole;
  const terms = whole.split(" ");
  const fitting: string[] = [];
  let room = maxBytes;
  let next = 0;
  const keep = (term: string): void => {
    const bytes = utf8Length(term) + 1;
    if (bytes > room) return;
    fitting.push(term);
    room -= bytes;
  };
  for (; next < terms.length && room > maxBytes / 2; next += 1) keep(terms[next] as string);
  for (const term of new Set(terms.slice(next))) keep(term);
  return fitting.join(" ");
}

const MESSAGES = INDEX_TABLES.messages;

/**
 * Scores the newest matches in several ranges, by BM25 as if each message held the words once: for each range bm25() would first
 * count all messages that hold them. Of matches that are listed only the lengths are looked up.
 */
function* scoreApart(
  { match, newest }: Pick<Counted, "match" | "newest">,
  range: SearchedRows,
  limit: number,
  { size: { documents, length }, rarities }: KnownIndex,
): Operation<ScoredMatches> {
  const base = baseOf(range);
  const query = newest === null ? matchesIn(LENGTHS, match, range, limit) : lengthsOfListed(newest, limit, base);
  const row = yield* first<{ numbers: string; lengths: string }>(...query);
  const numbers = ascending(row?.numbers, base);
  if (numbers.length === 0) return { numbers, scores: [] };
  const scoreOf = scoreBy(yield* findRarity(match, documents, rarities), length);
  return { numbers, scores: lengthsFrom(row?.lengths, length).map((each) => scoreOf(1, each)) };
}

const LISTS = "json_group_array(n) AS numbers, json_group_array(length) AS lengths";
const LENGTHS = matchQuery("DESC", LISTS, `${lengthOf("messages")} AS length`);

function lengthsOfListed(newest: string, limit: number, base: number): [string, ...SqlValue[]] {
  // They have the name of the index, which `lengthOf` asks.
  const listed = `(SELECT value AS n, value + ${INTEGER} AS rowid FROM json_each(?) LIMIT ${INTEGER}) AS ${MESSAGES}`;
  return [`SELECT ${LISTS} FROM (SELECT n, ${lengthOf("messages")} AS length FROM ${listed})`, base, newest, limit];
}

function* findRarity(match: string, documents: number, rarities: WordRarities): Operation<number> {
  const known = rarities.find(match, documents);
  if (known !== undefined && Number.isFinite(known)) return known;
  const rarity = rarityOf(documents, yield* oneNumber(HOLDING, match));
  rarities.learn(match, documents, rarity);
  return rarity;
}

const HOLDING = `SELECT count(*) AS documents FROM ${MESSAGES} WHERE ${MESSAGES} MATCH ?`;
