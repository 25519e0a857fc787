import {
  joinedTerms,
  type Matches,
  messagesOf,
  queryTerms,
  type Ranked,
  rarityOf,
  type ScopeSize,
  type SearchQuery,
  scoreIn,
  timesBy,
  utf8Length,
  withUsual,
} from "@stemma/model";
import {
  INDEX_TABLES,
  type IndexedDocument,
  rankEntries,
  type SearchDialect,
  type SearchIndex,
} from "../engine/dialect.js";
import { column, first, type Operation, oneNumber, run, runEach, type SqlValue } from "../engine/operation.js";
import { divided } from "../operations/row-portions.js";
import {
  ascending,
  createMatches,
  fts5Rarity,
  LEAST_RARITY,
  lengthsOf,
  numbersOf,
  quote,
  SCALE,
  scoreOf,
  sizeOfIndex,
} from "./match-queries.js";
import { INTEGER } from "./schema.js";

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
export function sqliteSearch(maxBytes: number, indexesLater: boolean, tools: boolean): SearchDialect {
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
  const matches = createMatches();
  return { rows: ROWS, indexesLater, tools, add, replace, remove, matches, entries: searchEntries };
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

const INDEX = INDEX_TABLES.entries;
const ENTRIES = "cf_agents_search_entries e";

/** In a smaller index everything is scored. */
const LARGE = 5_000;
/** To ask whether one entry holds a sequence takes as long as to score so many. */
const SCORED_MEANWHILE = 25;

/** Of each sequence so many entries are scored: the newest. Those that hold others as well are taken to be as good as usual. */
const MOST = 1_000;

/** How many entries of a scope are counted: of more it is taken to have as many as there are at all. Of how many the lengths are averaged. */
const COUNTED = 10_000;
const SAMPLED = 500;

/**
 * The best matches among the entries `e` for which a condition holds, by BM25 among these, not among what others store. FTS5 looks at all
 * that match, whose ever they are. Where that would take longer, since thousands of others' do, it is asked for each entry of the scope
 * instead, and these are scored as if each held a sequence once.
 */
function* searchEntries(query: SearchQuery, scope: EntryScope, limit: number): Operation<Ranked[]> {
  const matches = queryTerms(query).map(quote);
  if (matches.length === 0) return [];
  const index = yield* sizeOfIndex("entries");
  const size = yield* sizeOfScope(scope, index);
  const most = index.documents < LARGE ? 0 : Math.floor(index.documents / (SCORED_MEANWHILE * matches.length));
  const meanwhile = size.documents * matches.length * SCORED_MEANWHILE;
  const either = matches.join(" OR ");
  const isEach =
    size.documents < most && (yield* countSome(`${INDEX} WHERE ${INDEX} MATCH ?`, [either], meanwhile)) === meanwhile;
  const found: Matches[] = [];
  for (const match of matches) found.push(yield* isEach ? findEach(match, scope) : findEntries(match, scope));
  const others: number[][] = [];
  for (const match of matches) others.push(isEach ? [] : yield* findBoth(match, matches, found, scope));
  const unscored = others.map((numbers) => ({ numbers, scores: [] }));
  const lengths = yield* lengthsOf("entries", messagesOf([...found, ...unscored]), index.length);
  const scored: Matches[] = [];
  for (const [at, { numbers, scores: bm25 }] of found.entries()) {
    const score = scoreIn(size, yield* holdingOf(numbers, scope, size.documents));
    const timesOf = isEach ? () => 1 : yield* timesIn(matches[at] as string, index);
    const scores = numbers.map((n, i) => {
      const length = lengths.get(n) ?? size.length;
      return score(timesOf(bm25[i] as number, length), length);
    });
    scored.push(withUsual({ numbers, scores }, others[at] as number[]));
  }
  return rankEntries(query, scored, lengths, limit);
}

function* sizeOfScope({ where, values }: EntryScope, index: ScopeSize): Operation<ScopeSize> {
  const counted = yield* countSome(`${ENTRIES} WHERE ${where}`, values, COUNTED);
  const sample = `SELECT coalesce(group_concat(hex(d.sz), ''), '') FROM (SELECT e.n AS n FROM ${ENTRIES} WHERE ${where} LIMIT ${SAMPLED}) AS s
    CROSS JOIN ${INDEX}_docsize d ON d.id = s.n`;
  const lengths = numbersOf((yield* column<string>(sample, ...values))[0] ?? "");
  const length = lengths.reduce((sum, each) => sum + each, 0) / lengths.length || 1;
  return { documents: counted < COUNTED ? counted : Math.max(COUNTED, index.documents), length };
}

// Of more than are looked for, as many as the newest let expect.
function* holdingOf({ length, 0: oldest }: readonly number[], { where, values }: EntryScope, documents: number) {
  if (length < MOST) return length;
  const newer = yield* countSome(`${ENTRIES} WHERE ${where} AND e.n >= ?`, [...values, oldest as number], documents);
  return (documents * length) / newer;
}

// bm25() goes by how many entries of the index hold a sequence, and gives what more than half of them hold next to nothing.
function* timesIn(match: string, { documents, length }: ScopeSize) {
  const holding = yield* oneNumber(`SELECT count(*) FROM ${INDEX} WHERE ${INDEX} MATCH ?`, match);
  return timesBy(Math.max(LEAST_RARITY, fts5Rarity(rarityOf(documents, holding))), length);
}

/** Entries `e` for which a condition holds. */
interface EntryScope {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

// How many rows there are, up to so many.
const countSome = (rows: string, values: readonly SqlValue[], most: number) =>
  oneNumber(`SELECT count(*) AS count FROM (SELECT 1 FROM ${rows} LIMIT ?)`, ...values, most);

function* findEntries(match: string, scope: EntryScope, score = scoreOf("entries")): Operation<Matches> {
  const row = yield* first<{ numbers: string; scores: string }>(
    `SELECT json_group_array(n) AS numbers, json_group_array(score) AS scores FROM (
       SELECT e.n AS n, ${score} AS score FROM ${INDEX} CROSS JOIN ${ENTRIES}
       WHERE ${INDEX} MATCH ? AND e.n = ${INDEX}.rowid AND ${scope.where} ORDER BY ${INDEX}.rowid DESC LIMIT ${MOST})`,
    match,
    ...scope.values,
  );
  return { numbers: ascending(row?.numbers), scores: ascending(row?.scores, 0, SCALE) };
}

// Of a sequence that is not scored to the end, entries that hold one of the rarer ones as well, or all that are as common.
function* findBoth(
  match: string,
  matches: readonly string[],
  found: readonly Matches[],
  scope: EntryScope,
): Operation<number[]> {
  const count = (each: string) => found[matches.indexOf(each)]?.numbers.length ?? 0;
  if (count(match) < MOST) return [];
  const rarer = matches.filter((each) => count(each) > 0 && count(each) < MOST);
  const common = matches.filter((each) => count(each) === MOST);
  const either = common.length > 1 ? [...rarer, `(${common.join(" AND ")})`] : rarer;
  if (either.length === 0) return [];
  return [...(yield* findEntries(`${match} AND (${either.join(" OR ")})`, scope, "0")).numbers];
}

function* findEach(match: string, { where, values }: EntryScope): Operation<Matches> {
  const query = `SELECT e.n AS n FROM ${ENTRIES} CROSS JOIN ${INDEX} WHERE ${where} AND ${INDEX} MATCH ? AND ${INDEX}.rowid = e.n`;
  const numbers = yield* column<number>(query, ...values, match);
  return { numbers: numbers.sort((a, b) => a - b), scores: [] };
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
