import { querySequences, type SearchQuery } from "../../model/query.js";
import { FEWEST, RAREST, type Ranked } from "../../model/rank.js";
import type { RowRange, SearchDialect, SearchIndex, SequenceMatches } from "./dialect.js";
import { all, column, first, type Operation, run, type SqlValue } from "./operation.js";
import { sqliteWords } from "./sqlite-words.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };
const ADD: Record<SearchIndex, string> = {
  messages: `INSERT INTO ${TABLES.messages} (rowid, text) VALUES (?, ?)`,
  entries: `INSERT INTO ${TABLES.entries} (rowid, text) VALUES (?, ?)`,
};

// Several drivers bind numbers as REAL, with which FTS5 cannot narrow a range of row ids.
const INTEGER = "CAST(? AS INTEGER)";

/** Full-text search with FTS5: porter stemming, any script, BM25. The tables keep no text of their own. */
export const sqliteSearch: SearchDialect = {
  *add(index, n, document) {
    yield* run(ADD[index], n, sqliteWords(document));
  },

  *remove(index, lo, hi) {
    yield* run(`DELETE FROM ${TABLES[index]} WHERE rowid BETWEEN ${INTEGER} AND ${INTEGER}`, lo, hi);
  },

  *matches(query, range, limit) {
    const found: Counted[] = [];
    for (const sequence of querySequences(query)) found.push(yield* countMatches(quote(sequence), range));
    let left = limit;
    const rarestFirst = found.filter(({ documents }) => documents > 0).sort((a, b) => a.documents - b.documents);
    for (const [place, matches] of rarestFirst.entries()) {
      const take = Math.min(matches.documents, Math.max(left, place < RAREST ? FEWEST : 0));
      if (take > 0) yield* scoreNewest(matches, take);
      left -= take;
    }
    return found;
  },

  *holding(sequences, range, rows) {
    const held: number[][] = [];
    for (const sequence of sequences) {
      const { where, values } = condition(quote(sequence), range);
      // The plus keeps SQLite from looking each row up by itself, which takes longer.
      const query = `SELECT rowid AS n FROM assistant_fts WHERE ${where} AND +rowid IN (SELECT value FROM json_each(?))`;
      held.push(yield* column<number>(query, ...values, JSON.stringify(rows)));
    }
    return held;
  },

  *entries(query, scope, limit) {
    const match = matchExpression(query);
    if (match === null) return [];
    return yield* all<Ranked>(
      `SELECT e.n AS n, -f.rank AS score FROM cf_agents_search_fts f JOIN cf_agents_search_entries e ON e.n = f.rowid
       WHERE f.cf_agents_search_fts MATCH ? AND e.session_id = ? AND e.label = ? ORDER BY f.rank LIMIT ?`,
      match,
      scope.sessionId,
      scope.label,
      limit,
    );
  },
};

interface Condition {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

interface Counted extends SequenceMatches, Condition {}

function condition(match: string, range: RowRange): Condition {
  const within = range === null ? "" : ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`;
  return { where: `assistant_fts MATCH ?${within}`, values: [match, ...(range ?? [])] };
}

function* countMatches(match: string, range: RowRange): Operation<Counted> {
  const { where, values } = condition(match, range);
  // To count is a twentieth of the work of scoring.
  const row = yield* first<{ count: number }>(`SELECT count(*) AS count FROM assistant_fts WHERE ${where}`, ...values);
  return { where, values, documents: row?.count ?? 0, scores: new Map() };
}

function* scoreNewest({ where, values, scores }: Counted, limit: number): Operation<void> {
  const rows = yield* all<Ranked>(
    `SELECT rowid AS n, -bm25(assistant_fts) AS score FROM assistant_fts WHERE ${where} ORDER BY rowid DESC LIMIT ${INTEGER}`,
    ...values,
    limit,
  );
  for (const { n, score } of rows) scores.set(n, score);
}

// Both make appends cheaper: larger leaves, and merges that are put off for longer.
const SETTINGS = [
  ["pgsz", 1000],
  ["automerge", 8],
] as const;

/** The tables' definition. */
export function* createSearchTables(): Operation<void> {
  for (const table of Object.values(TABLES)) {
    yield* run(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${table}
       USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')`,
    );
    for (const [setting, value] of SETTINGS) {
      yield* run(`INSERT INTO ${table} (${table}, rank) VALUES ('${setting}', ${INTEGER})`, value);
    }
  }
}

export function* dropSearchTables(): Operation<void> {
  for (const table of Object.values(TABLES)) yield* run(`DROP TABLE IF EXISTS ${table}`);
}

function matchExpression(query: SearchQuery): string | null {
  const sequences = querySequences(query).map(quote);
  return sequences.length === 0 ? null : sequences.join(" OR ");
}

// Everything is quoted, so that nothing is an operator.
function quote(sequence: readonly string[]): string {
  return `"${sqliteWords(sequence.join(" ")).replaceAll('"', '""')}"`;
}
