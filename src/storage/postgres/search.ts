import { FEWEST, messagesOf, neighboursOf, RAREST } from "../../model/rank.js";
import { documentTerms, type TermSequences } from "../../model/terms.js";
import type { SearchDialect, SearchIndex } from "../engine/dialect.js";
import { all, type Operation, run, type SqlValue } from "../engine/operation.js";

/**
 * Full-text search on an index of our own, which ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */
const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

/** Documents whose lengths are averaged, or which are read for a phrase; of more the newest. */
const SAMPLE = 10_000;

export const postgresSearch: SearchDialect = {
  rows: TABLES,

  add(index, rowId, document) {
    const terms = documentTerms(document);
    return {
      sql: `INSERT INTO ${TABLES[index]} (n, length, terms) VALUES (?, ?, ?::text::text[])`,
      values: [rowId, terms.length, arrayLiteral(terms)],
    };
  },

  // A row that is there is written over, since an owner's columns stand in it: a tenant, say.
  *replace(index, documents) {
    const [first, last] = [documents[0], documents.at(-1)];
    if (first === undefined || last === undefined) return;
    const table = TABLES[index];
    const rows = JSON.stringify(
      documents.flatMap(({ n: rowId, document }) => {
        const terms = documentTerms(document);
        return terms.length === 0 ? [] : [{ n: rowId, length: terms.length, terms: terms.join(" ") }];
      }),
    );
    const given = "json_to_recordset(?::text::json) AS r (n BIGINT, length INTEGER, terms TEXT)";
    yield* run(
      `UPDATE ${table} d SET length = r.length, terms = string_to_array(r.terms, ' ') FROM ${given} WHERE d.n = r.n`,
      rows,
    );
    yield* run(
      `INSERT INTO ${table} (n, length, terms) SELECT r.n, r.length, string_to_array(r.terms, ' ') FROM ${given}
       WHERE NOT EXISTS (SELECT FROM ${table} d WHERE d.n = r.n)`,
      rows,
    );
    yield* run(
      `DELETE FROM ${table} d WHERE d.n BETWEEN ? AND ? AND NOT EXISTS (SELECT FROM ${given} WHERE r.n = d.n)`,
      first.n,
      last.n,
      rows,
    );
  },

  *copy(lo, hi, shift) {
    yield* run(
      `INSERT INTO assistant_fts (n, length, terms)
       SELECT m.n, f.length, f.terms FROM assistant_messages m JOIN assistant_fts f ON f.n = m.n - ? WHERE m.n BETWEEN ? AND ?`,
      shift,
      lo,
      hi,
    );
  },

  *remove(index, lo, hi) {
    yield* run(`DELETE FROM ${TABLES[index]} WHERE n BETWEEN ? AND ?`, lo, hi);
  },

  *matches(sequences, range, limit) {
    const scope = {
      table: TABLES.messages,
      rows: "assistant_fts d WHERE d.n BETWEEN ? AND ?",
      values: range ?? EVERYWHERE,
    };
    const found = sequences.map(() => ({
      documents: 0,
      complete: true,
      numbers: [] as number[],
      scores: [] as number[],
    }));
    for (const { i, n: rowId, score, documents } of yield* findMatches(sequences, scope, limit)) {
      const matches = found[i - 1] as (typeof found)[number];
      matches.documents = documents;
      if (rowId === null) continue;
      matches.numbers.push(rowId);
      matches.scores.push(score);
    }
    for (const matches of found) matches.complete = matches.numbers.length === matches.documents;
    return found;
  },

  *holding(sequences, range, found) {
    const [lo, hi] = range ?? EVERYWHERE;
    const held = found.map((): number[] => []);
    const wanted = [...found.entries()].filter(([, { complete, numbers }]) => !complete && numbers.length > 0);
    const rows = yield* all<{ i: number; n: number }>(
      `SELECT w.i AS i, d.n AS n
       FROM json_array_elements_text(?::text::json) AS r (n) JOIN assistant_fts d ON d.n = r.n::bigint
       JOIN ${WANTED} ON d.terms @> w.terms
       WHERE d.n BETWEEN ? AND ? AND (cardinality(w.terms) = 1 OR ${TIMES} > 0) ORDER BY n`,
      JSON.stringify(neighboursOf(messagesOf(found))),
      JSON.stringify(wanted.map(([index]) => sequences[index])),
      lo,
      hi,
    );
    for (const { i, n: rowId } of rows) {
      const [index] = wanted[i - 1] as (typeof wanted)[number];
      held[index]?.push(rowId);
    }
    return held;
  },

  *entries(sequences, { where, values }, limit) {
    const rows = `cf_agents_search_fts d JOIN cf_agents_search_entries e ON e.n = d.n WHERE ${where}`;
    const scope = { table: TABLES.entries, rows, values };
    const scores = new Map<number, number>();
    for (const { n: rowId, score } of yield* findMatches(sequences, scope, SAMPLE)) {
      if (rowId !== null) scores.set(rowId, (scores.get(rowId) ?? 0) + score);
    }
    const ranked = [...scores].map(([rowId, score]) => ({ n: rowId, score }));
    return ranked.sort((a, b) => b.score - a.score || a.n - b.n).slice(0, limit);
  },
};

const EVERYWHERE = [0, Number.MAX_SAFE_INTEGER] as const;

/** Some of the rows of an index. */
interface Scope {
  readonly table: string;
  /** The end of a query that names the index `d`. */
  readonly rows: string;
  readonly values: readonly SqlValue[];
}

/** A row that holds the sequence with the ordinal `i`, null when none is scored; how well it matches; how many rows hold it. */
interface Match {
  readonly i: number;
  readonly n: number | null;
  readonly score: number;
  readonly documents: number;
}

/** Sequences, from one parameter that holds them as JSON: their terms, and an ordinal from 1 on. */
const WANTED = `(SELECT i, ARRAY(SELECT json_array_elements_text(value)) AS terms
                 FROM json_array_elements(?::text::json) WITH ORDINALITY AS e (value, i)) AS w`;

/** How many times the terms of `w` stand side by side in a row `d` that holds each of them. */
const TIMES = `(SELECT count(*) FROM (
             SELECT FROM unnest(w.terms) WITH ORDINALITY AS t (term, k)
             CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
             GROUP BY at - k HAVING count(*) = cardinality(w.terms)) AS runs)`;

/**
 * The rows that hold any of the sequences, scored by BM25 with the constants of FTS5. How rare a sequence is, is measured
 * in the scope: other sessions have no part in it. Which of them are scored, see `SearchDialect.matches`.
 */
function* findMatches(sequences: TermSequences, scope: Scope, limit: number): Operation<Match[]> {
  if (sequences.length === 0) return [];
  return yield* all<Match>(
    `WITH wanted AS MATERIALIZED (
       SELECT w.i, w.terms FROM ${WANTED}
     ), held AS MATERIALIZED (
       SELECT w.i, w.terms, d.n, d.length, row_number() OVER (PARTITION BY w.i ORDER BY d.n DESC) AS place
       FROM wanted w CROSS JOIN LATERAL (SELECT d.n, d.length FROM ${scope.rows} AND d.terms @> w.terms) AS d
     ), found AS (
       SELECT i, terms, n, length, NULL::bigint AS times FROM held WHERE cardinality(terms) = 1
       UNION ALL
       SELECT w.i, w.terms, w.n, w.length, r.times
       FROM held w JOIN ${scope.table} d ON d.n = w.n CROSS JOIN LATERAL ${TIMES} AS r (times)
       WHERE cardinality(w.terms) > 1 AND w.place <= ${SAMPLE} AND r.times > 0
     ), counted AS MATERIALIZED (
       SELECT *, count(*) OVER (PARTITION BY i) AS documents, row_number() OVER (PARTITION BY i ORDER BY n DESC) AS place
       FROM found
     ), budget AS (
       SELECT i, documents, greatest(?::bigint - coalesce(sum(documents) OVER (rarest_first
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0),
         CASE WHEN row_number() OVER rarest_first <= ${RAREST} THEN ${FEWEST} END) AS places
       FROM counted WHERE place = 1 WINDOW rarest_first AS (ORDER BY documents, i)
     ), sample AS (
       SELECT d.n, d.length FROM ${scope.rows} ORDER BY d.n DESC LIMIT ${SAMPLE}
     ), size AS MATERIALIZED (
       SELECT greatest(count(*), (SELECT max(documents) FROM budget),
                CASE WHEN count(*) = ${SAMPLE} THEN least(max(n) - ?::bigint, (
                  SELECT reltuples FROM pg_class WHERE oid = to_regclass('${scope.table}'))) END) AS documents,
              avg(length)::float8 AS length
       FROM sample
     )
     SELECT b.i, c.n, b.documents, greatest(ln((s.documents - b.documents + 0.5) / (b.documents + 0.5)), 0.000001)
                      * t.times * 2.2 / (t.times + 1.2 * (0.25 + 0.75 * c.length / s.length)) AS score
     FROM budget b LEFT JOIN counted c ON c.i = b.i AND c.place <= b.places CROSS JOIN size s
     CROSS JOIN LATERAL (SELECT coalesce(c.times, (
       SELECT cardinality(array_positions(d.terms, c.terms[1])) FROM ${scope.table} d WHERE d.n = c.n)) AS times) AS t
     ORDER BY c.n`,
    JSON.stringify(sequences),
    ...scope.values,
    limit,
    ...scope.values,
    typeof scope.values[0] === "number" ? scope.values[0] : 0,
  );
}

/** An array as Postgres reads one from text. */
export function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
