import { querySequences, type SearchQuery, spaceOut } from "../../model/query.js";
import type { Ranked } from "../../model/rank.js";
import type { SearchDialect, SearchIndex } from "./dialect.js";
import { all, column, first, type Operation, run, type SqlValue } from "./operation.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };
const ADD: Record<SearchIndex, string> = {
  messages: `INSERT INTO ${TABLES.messages} (rowid, text) VALUES (?, ?)`,
  entries: `INSERT INTO ${TABLES.entries} (rowid, text) VALUES (?, ?)`,
};

// Several drivers bind numbers as REAL, with which FTS5 cannot narrow a range of row ids.
const INTEGER = "CAST(? AS INTEGER)";

/** Of a word with too many matches to score each: how many are looked at for each that is scored, and scored as a sample. */
const LOOKS = 20;
const SAMPLE = 30;

/** How far apart messages lend each other matches. */
const NEAR = 4;

/** Full-text search with FTS5: porter stemming, any script, BM25. The tables keep no text of their own. */
export const sqliteSearch: SearchDialect = {
  *add(index, n, document) {
    yield* run(ADD[index], n, spaceOut(document.toWellFormed()));
  },

  *remove(index, lo, hi) {
    yield* run(`DELETE FROM ${TABLES[index]} WHERE rowid BETWEEN ${INTEGER} AND ${INTEGER}`, lo, hi);
  },

  *matches(query, range, limit) {
    const terms: Term[] = [];
    for (const sequence of querySequences(query)) terms.push(yield* countTerm(quote(sequence), range));
    const matches = terms.map(() => new Map<number, number>());
    const rarestFirst = [...terms.entries()].sort(([, a], [, b]) => a.count - b.count);
    let left = limit;
    const cut: number[] = [];
    for (const [index, term] of rarestFirst) {
      const take = Math.min(term.count, left);
      if (take > 0) matches[index] = yield* scoreNewest(term, take);
      if (take < term.count) cut.push(index);
      left -= take;
    }
    if (cut.length === 0) return matches;
    const near = rowsNear(matches);
    let looks = limit * LOOKS;
    for (const index of cut) {
      const term = terms[index] as Term;
      const scored = matches[index] as Map<number, number>;
      const sample = scored.size > 0 ? scored : yield* scoreNewest(term, SAMPLE);
      const usual = [...sample.values()].reduce((sum, score) => sum + score, 0) / sample.size;
      for (const n of yield* newest(term, looks)) if (near.has(n) && !scored.has(n)) scored.set(n, usual);
      looks = Math.max(0, looks - term.count);
    }
    return matches;
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

/** A sequence of words, and the matches that it has in a range. */
interface Term {
  /** The condition, with its values. */
  readonly where: string;
  readonly values: readonly SqlValue[];
  readonly count: number;
}

type Range = readonly [lo: number, hi: number] | null;

function* countTerm(match: string, range: Range): Operation<Term> {
  const within = range === null ? "" : ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`;
  const where = `assistant_fts MATCH ?${within}`;
  const values = [match, ...(range ?? [])];
  // To count is a twentieth of the work of scoring.
  const row = yield* first<{ count: number }>(`SELECT count(*) AS count FROM assistant_fts WHERE ${where}`, ...values);
  return { where, values, count: row?.count ?? 0 };
}

function* scoreNewest({ where, values }: Term, limit: number): Operation<Map<number, number>> {
  const rows = yield* all<Ranked>(
    `SELECT rowid AS n, -bm25(assistant_fts) AS score FROM assistant_fts WHERE ${where} ORDER BY rowid DESC LIMIT ${INTEGER}`,
    ...values,
    limit,
  );
  return new Map(rows.map(({ n, score }) => [n, score]));
}

function newest({ where, values }: Term, limit: number): Operation<number[]> {
  const query = `SELECT rowid AS n FROM assistant_fts WHERE ${where} ORDER BY rowid DESC LIMIT ${INTEGER}`;
  return column<number>(query, ...values, limit);
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

function rowsNear(matches: readonly ReadonlyMap<number, number>[]): Set<number> {
  const near = new Set<number>();
  for (const term of matches) {
    for (const n of term.keys()) for (let other = n - NEAR; other <= n + NEAR; other += 1) near.add(other);
  }
  return near;
}

function matchExpression(query: SearchQuery): string | null {
  const sequences = querySequences(query).map(quote);
  return sequences.length === 0 ? null : sequences.join(" OR ");
}

// Everything is quoted, so that nothing is an operator.
function quote(sequence: readonly string[]): string {
  return `"${sequence.join(" ").replaceAll('"', '""')}"`;
}
