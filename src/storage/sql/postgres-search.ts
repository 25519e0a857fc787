import type { Ranked } from "../../model/rank.js";
import { documentTerms, queryTerms } from "../../model/terms.js";
import type { SearchDialect, SearchIndex } from "./dialect.js";
import { all, type Operation, run, type SqlValue } from "./operation.js";

/**
 * Full-text search on an index of our own, which finds and ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */
const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

/** Documents whose lengths are averaged; of a larger index the newest. */
const SAMPLE = 10_000;

export const postgresSearch: SearchDialect = {
  *add(index, n, document) {
    const terms = documentTerms(document);
    yield* run(
      `INSERT INTO ${TABLES[index]} (n, length, terms) VALUES (?, ?, ?::text::text[])`,
      n,
      terms.length,
      arrayLiteral(terms),
    );
  },

  *remove(index, lo, hi) {
    yield* run(`DELETE FROM ${TABLES[index]} WHERE n BETWEEN ? AND ?`, lo, hi);
  },

  *matches(query, range, limit) {
    const sequences = queryTerms(query);
    const [lo, hi] = range ?? [0, Number.MAX_SAFE_INTEGER];
    const scope = { rows: "assistant_fts d WHERE d.n BETWEEN ? AND ?", values: [lo, hi] };
    const rows = yield* scored<Ranked & { i: number }>(sequences, scope, {
      sql: `SELECT i, n, score FROM (SELECT s.*, row_number() OVER (PARTITION BY i ORDER BY score DESC, n) AS place FROM scored s) AS best
            WHERE place <= ? ORDER BY i, place`,
      values: [limit],
    });
    const matches = sequences.map(() => new Map<number, number>());
    for (const { i, n, score } of rows) matches[i - 1]?.set(n, score);
    return matches;
  },

  *entries(query, { sessionId, label }, limit) {
    const rows = `cf_agents_search_fts d JOIN cf_agents_search_entries e ON e.n = d.n
      WHERE e.session_id = ? AND e.label = ?`;
    return yield* scored<Ranked>(
      queryTerms(query),
      { rows, values: [sessionId, label] },
      { sql: "SELECT n, sum(score) AS score FROM scored GROUP BY n ORDER BY score DESC, n LIMIT ?", values: [limit] },
    );
  },
};

/** Part of a query, with the values for it. */
interface Fragment {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

interface Scope {
  /** Some of the rows of an index, as the end of a query that names the index `d`. */
  readonly rows: string;
  readonly values: readonly SqlValue[];
}

/**
 * What `select` makes of `scored`: how well each row of the scope that holds a sequence matches it, by BM25 with the
 * constants of FTS5. How rare a sequence is, is measured in the scope: other sessions have no part in it.
 */
function* scored<R>(sequences: readonly string[][], scope: Scope, select: Fragment): Operation<R[]> {
  if (sequences.length === 0) return [];
  const singles = sequences.filter(({ length }) => length === 1).flat();
  const phrases = sequences.filter(({ length }) => length > 1);
  const conditions = [
    ...(singles.length > 0 ? ["d.terms && ?::text::text[]"] : []),
    ...phrases.map(() => "d.terms @> ?::text::text[]"),
  ];
  return yield* all<R>(
    `WITH wanted AS MATERIALIZED (
       SELECT i, ARRAY(SELECT json_array_elements_text(value)) AS terms
       FROM json_array_elements(?::text::json) WITH ORDINALITY AS w (value, i)
     ), matched AS MATERIALIZED (
       SELECT d.n, d.length, d.terms FROM ${scope.rows} AND (${conditions.join(" OR ")})
     ), found AS MATERIALIZED (
       SELECT m.n, m.length, w.i,
              CASE WHEN cardinality(w.terms) = 1 THEN cardinality(array_positions(m.terms, w.terms[1]))
                   ELSE (SELECT count(*) FROM (
                           SELECT at - k FROM unnest(w.terms) WITH ORDINALITY AS t (term, k)
                           CROSS JOIN LATERAL unnest(array_positions(m.terms, t.term)) AS at
                           GROUP BY at - k HAVING count(*) = cardinality(w.terms)) AS runs) END AS times
       FROM matched m CROSS JOIN wanted w
     ), frequency AS (
       SELECT i, count(*) AS documents FROM found WHERE times > 0 GROUP BY i
     ), sample AS (
       SELECT d.n, d.length FROM ${scope.rows} ORDER BY d.n DESC LIMIT ${SAMPLE}
     ), size AS (
       SELECT greatest(count(*), (SELECT max(documents) FROM frequency),
                CASE WHEN count(*) = ${SAMPLE} THEN least(max(n) - ?, (
                  SELECT reltuples FROM pg_class WHERE oid = to_regclass('assistant_fts'))) END) AS documents,
              avg(length)::float8 AS length
       FROM sample
     ), scored AS (
       SELECT f.i, f.n,
              greatest(ln((s.documents - q.documents + 0.5) / (q.documents + 0.5)), 0.000001)
              * f.times * 2.2 / (f.times + 1.2 * (0.25 + 0.75 * f.length / s.length)) AS score
       FROM found f JOIN frequency q ON q.i = f.i CROSS JOIN size s WHERE f.times > 0
     )
     ${select.sql}`,
    JSON.stringify(sequences),
    ...scope.values,
    ...(singles.length > 0 ? [arrayLiteral(singles)] : []),
    ...phrases.map(arrayLiteral),
    ...scope.values,
    typeof scope.values[0] === "number" ? scope.values[0] : 0,
    ...select.values,
  );
}

/** An array as Postgres reads one from text. */
export function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
