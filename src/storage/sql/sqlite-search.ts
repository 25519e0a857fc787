import { querySequences, type SearchQuery, spaceOut } from "../../model/query.js";
import type { Ranked } from "../../model/rank.js";
import type { SearchDialect, SearchIndex } from "./dialect.js";
import { all, type Operation, run } from "./operation.js";

const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

// Several drivers bind numbers as REAL, with which FTS5 cannot narrow a range of row ids.
const INTEGER = "CAST(? AS INTEGER)";

/** Full-text search with FTS5: porter stemming, any script, BM25. The tables keep no text of their own. */
export const sqliteSearch: SearchDialect = {
  *add(index, n, document) {
    yield* run(`INSERT INTO ${TABLES[index]} (rowid, text) VALUES (?, ?)`, n, spaceOut(document.toWellFormed()));
  },

  *remove(index, lo, hi) {
    yield* run(`DELETE FROM ${TABLES[index]} WHERE rowid BETWEEN ${INTEGER} AND ${INTEGER}`, lo, hi);
  },

  *matches(query, range, limit) {
    const within = range === null ? "" : `AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`;
    const matches: Map<number, number>[] = [];
    for (const sequence of querySequences(query)) {
      const rows = yield* all<Ranked>(
        `SELECT rowid AS n, -rank AS score FROM assistant_fts WHERE assistant_fts MATCH ? ${within} ORDER BY rank LIMIT ?`,
        quote(sequence),
        ...(range ?? []),
        limit,
      );
      matches.push(new Map(rows.map(({ n, score }) => [n, score])));
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

/** The tables' definition. `pgsz` makes appends cheaper: fewer, larger leaves. */
export function* createSearchTables(): Operation<void> {
  for (const table of Object.values(TABLES)) {
    yield* run(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${table}
       USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')`,
    );
    yield* run(`INSERT INTO ${table} (${table}, rank) VALUES ('pgsz', ${INTEGER})`, 1000);
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
  return `"${sequence.join(" ").replaceAll('"', '""')}"`;
}
