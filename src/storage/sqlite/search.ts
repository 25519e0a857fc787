import { joinedTerms } from "../../model/joined-terms.js";
import { FEWEST, messagesOf, nearMessages, needOthers, RAREST, type Ranked } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type {
  FoundMatches,
  IndexedDocument,
  RowRange,
  SearchDialect,
  SearchIndex,
  SequenceMatches,
} from "../engine/dialect.js";
import { all, column, first, type Operation, run, type SqlValue, type Statement } from "../engine/operation.js";
import { fitTerms } from "./fit-terms.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };
const ADD: Record<SearchIndex, string> = {
  messages: `INSERT INTO ${TABLES.messages} (rowid, terms) VALUES (?, ?)`,
  entries: `INSERT INTO ${TABLES.entries} (rowid, terms) VALUES (?, ?)`,
};

// Each index notes the length of every document in a table.
const ROWS: Record<SearchIndex, string> = {
  messages: `(SELECT id AS n FROM ${TABLES.messages}_docsize UNION ALL SELECT n FROM assistant_unindexed)`,
  entries: `(SELECT id AS n FROM ${TABLES.entries}_docsize)`,
};

// Several drivers bind numbers as REAL, with which FTS5 cannot narrow a range of row ids.
const INTEGER = "CAST(? AS INTEGER)";

/**
 * Full-text search with FTS5, which keeps no text of its own, and no more of a document than one value of `maxBytes` holds. It
 * is given the terms that every store has. Its own words would be others: it knows an older stemmer, and Unicode of 2012.
 */
export function sqliteSearch(maxBytes: number, indexesLater: boolean): SearchDialect {
  const add = (index: SearchIndex, _sessionId: string, rowId: number, document: string): Statement => ({
    sql: ADD[index],
    values: [rowId, fitTerms(joinedTerms(document), maxBytes)],
  });
  function* remove(index: SearchIndex, _sessionId: string | null, lo: number, hi: number): Operation<void> {
    yield* run(`DELETE FROM ${TABLES[index]} WHERE rowid BETWEEN ${INTEGER} AND ${INTEGER}`, lo, hi);
    if (index === "messages") yield* run("DELETE FROM assistant_unindexed WHERE n BETWEEN ? AND ?", lo, hi);
  }
  function* replace(index: SearchIndex, documents: readonly IndexedDocument[]): Operation<void> {
    const [first, last] = [documents[0], documents.at(-1)];
    if (first !== undefined && last !== undefined) yield* remove(index, null, first.rowId, last.rowId);
    const indexed = documents.filter(({ document }) => document !== "");
    yield* indexed.map(({ sessionId, rowId, document }) => add(index, sessionId, rowId, document));
  }
  return { rows: ROWS, mayLag: true, indexesLater, add, replace, remove, matches, entries };
}

function* matches(sequences: TermSequences, range: RowRange, limit: number): Operation<FoundMatches> {
  const found = sequences.map((sequence) => countable(quote(sequence)));
  // A single sequence is scored as far as it goes, however many matches it has.
  if (found.length > 1) for (const matches of found) yield* countMatches(matches, range, Math.max(MANY, limit + 1));
  let left = limit;
  for (const [place, matches] of [...found].sort(rarestFirst).entries()) {
    const take = Math.min(matches.documents, Math.max(left, place < RAREST ? FEWEST : 0));
    if (take > 0) yield* scoreNewest(matches, range, take);
    const scored = matches.numbers.length;
    matches.complete = found.length > 1 ? scored === matches.documents : scored < take;
    left -= take;
  }
  if (needOthers(found)) yield* findOthers(range, found);
  return { sequences: found, branches: null, sessions: null };
}

function* findOthers(range: RowRange, found: readonly Counted[]): Operation<void> {
  const messages = messagesOf(found);
  const scored = found.filter(({ numbers }) => numbers.length > 0);
  const rare = scored.filter(({ documents }) => documents < MANY);
  for (const matches of scored) {
    if (matches.complete) continue;
    const others =
      matches.documents < MANY
        ? ascending(matches.newest, baseOf(range))
        : yield* holdingBoth(matches, rare.length > 0 ? rare : scored.filter((other) => other !== matches), range);
    matches.others = nearMessages(others, messages);
  }
}

// The newest messages that hold a sequence and one of others. What two lists have in common FTS5 finds sooner from the oldest
// on, so it is asked for the newest only where there may be many.
function* holdingBoth({ match }: Counted, others: readonly Counted[], range: RowRange): Operation<readonly number[]> {
  const both = `(${others.map((other) => other.match).join(" OR ")}) AND ${match}`;
  const most = others.reduce((sum, { documents }) => sum + documents, 0);
  const query = most < MANY ? OLDEST : NEWEST;
  const row = yield* first<{ numbers: string }>(query[scopeOf(range)], ...someWithin(both, range), MANY);
  const numbers = ascending(row?.numbers, baseOf(range));
  return query === OLDEST ? numbers.reverse() : numbers;
}

function* entries(sequences: TermSequences, { where, values }: Condition, limit: number): Operation<Ranked[]> {
  if (sequences.length === 0) return [];
  return yield* all<Ranked>(
    `SELECT e.n AS n, -f.rank AS score FROM cf_agents_search_fts f JOIN cf_agents_search_entries e ON e.n = f.rowid
       WHERE f.cf_agents_search_fts MATCH ? AND ${where} ORDER BY f.rank LIMIT ?`,
    sequences.map(quote).join(" OR "),
    ...values,
    limit,
  );
}

/** A sequence that so many messages hold is in too many of them to look at each. */
const MANY = 2_000;

interface Condition {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

interface Counted extends SequenceMatches {
  /** What the index is asked for. */
  readonly match: string;
  documents: number;
  /** The oldest of those that were counted, by how much it is above `baseOf`. */
  oldest: number;
  /** JSON of those that were counted, the newest first and by how much they are above `baseOf`, where they are fewer than `MANY`. */
  newest: string | null;
  complete: boolean;
  numbers: readonly number[];
  scores: readonly number[];
  others: readonly number[];
}

function countable(match: string): Counted {
  const documents = Number.POSITIVE_INFINITY;
  return { match, documents, oldest: 0, newest: null, complete: false, numbers: [], scores: [], others: [] };
}

// To count is a twentieth of the work of scoring, but not even that is done for every match.
function* countMatches(matches: Counted, range: RowRange, limit: number): Operation<void> {
  const row = yield* first<{ count: number; oldest: number | null; newest: string | null }>(
    COUNT[scopeOf(range)],
    ...someWithin(matches.match, range),
    limit,
  );
  matches.documents = row?.count ?? 0;
  matches.oldest = row?.oldest ?? 0;
  matches.newest = row?.newest ?? null;
}

// Of those that were not counted to the end, the rarer goes further back.
function rarestFirst(a: Counted, b: Counted): number {
  return a.documents - b.documents || a.oldest - b.oldest;
}

/** Scores are handed over as whole numbers of billionths. */
const SCALE = 1e9;

function* scoreNewest(matches: Counted, range: RowRange, limit: number): Operation<void> {
  const row = yield* first<{ numbers: string; scores: string }>(
    SCORE[scopeOf(range)],
    ...someWithin(matches.match, range),
    limit,
  );
  matches.numbers = ascending(row?.numbers, baseOf(range));
  matches.scores = ascending(row?.scores, 0, SCALE);
}

function ascending(newestFirst: string | null = null, base = 0, scale = 1): number[] {
  const found: number[] = JSON.parse(newestFirst ?? "[]").reverse();
  for (let place = 0; place < found.length; place += 1) found[place] = base + (found[place] as number) / scale;
  return found;
}

type Scope = "all" | "range";
const scopeOf = (range: RowRange): Scope => (range === null ? "all" : "range");
const baseOf = (range: RowRange) => range?.lo ?? 0;
const someWithin = (match: string, range: RowRange) =>
  range === null ? [match] : [range.lo, match, range.lo, range.hi];

// Some matches among all rows, and in a range of them, from one end. One row of JSON is handed over sooner than hundreds of rows.
// Whole numbers are written and read faster, and small ones fastest: the rows of a range are numbered from its first one.
function some(order: "ASC" | "DESC", columns: string, ...values: string[]): Record<Scope, string> {
  const select = (n: string, where: string) =>
    `SELECT ${columns} FROM (SELECT ${[`${n} AS n`, ...values].join(", ")} FROM assistant_fts
       WHERE assistant_fts MATCH ?${where} ORDER BY rowid ${order} LIMIT ${INTEGER})`;
  return {
    all: select("rowid", ""),
    range: select(`rowid - ${INTEGER}`, ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`),
  };
}

const OLDEST = some("ASC", "json_group_array(n) AS numbers");
const NEWEST = some("DESC", "json_group_array(n) AS numbers");
const COUNT = some(
  "DESC",
  `count(*) AS count, min(n) AS oldest, CASE WHEN count(*) < ${MANY} THEN json_group_array(n) END AS newest`,
);
const SCORE = some(
  "DESC",
  "json_group_array(n) AS numbers, json_group_array(score) AS scores",
  `CAST(-${SCALE} * bm25(assistant_fts) AS INTEGER) AS score`,
);

// Both make appends cheaper: larger leaves, and merges that are put off for longer.
const SETTINGS = [
  ["pgsz", 1000],
  ["automerge", 8],
] as const;

/** The tables' definition: to this tokenizer each character beyond ASCII is part of a word, so a term is one token. */
export function* createSearchTables(): Operation<void> {
  for (const table of Object.values(TABLES)) {
    yield* run(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${table}
       USING fts5(terms, content='', contentless_delete=1, tokenize='ascii')`,
    );
    for (const [setting, value] of SETTINGS) {
      yield* run(`INSERT INTO ${table} (${table}, rank) VALUES ('${setting}', ${INTEGER})`, value);
    }
  }
}

/** How many pages of an index are merged at once. */
const MERGED_PAGES = 100;

/** The names of the indexes' tables. */
export const SEARCH_TABLES = Object.values(TABLES);

/** Makes a step towards an index in one part, which holds no term of what was removed. False when none is left. */
export function* mergeSearchTable(table: string, begins: boolean): Operation<boolean> {
  const changes = "SELECT total_changes() AS changes";
  const [before = 0] = yield* column<number>(changes);
  // With a number below 0 all parts are to be merged, not only small ones.
  const pages = begins ? -MERGED_PAGES : MERGED_PAGES;
  yield* run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ${INTEGER})`, pages);
  const [after = 0] = yield* column<number>(changes);
  // The statement itself counts as one.
  return after - before > 1;
}

/** False in a database that was never open with search. */
export function* hasSearchTables(): Operation<boolean> {
  return (yield* first("SELECT 1 FROM sqlite_master WHERE name = ?", TABLES.messages)) !== undefined;
}

/** Makes the tables anew: other programs that have the database open go on with them. Whoever does so marks every message to be indexed. */
export function* emptySearchTables(): Operation<void> {
  for (const table of Object.values(TABLES)) yield* run(`DROP TABLE IF EXISTS ${table}`);
  yield* run("DELETE FROM assistant_unindexed");
  yield* createSearchTables();
}

// Everything is quoted, so that nothing is an operator.
function quote(sequence: readonly string[]): string {
  return `"${sequence.join(" ")}"`;
}
