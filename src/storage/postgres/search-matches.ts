import { FEWEST, RAREST } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type { Condition } from "../engine/dialect.js";
import { all, first, type Operation, type SqlValue } from "../engine/operation.js";

/** Rows of an index among which is searched. */
export interface Scope {
  readonly table: string;
  /** Begins a condition on its rows, with what it binds: whose they are, where they are not everyone's. */
  readonly own: Condition;
  /** The end of a query that names the index `d`. */
  readonly rows: string;
  readonly values: readonly SqlValue[];
  /** The least row id that `rows` can have. */
  readonly floor: number;
  /** How many documents are counted, and their lengths averaged: of more the newest. */
  readonly sample: number;
}

/** A row that holds the sequence with the ordinal `i`, null when none is scored; how well it matches; how many rows hold it. */
export interface Match {
  readonly i: number;
  readonly n: number | null;
  readonly score: number;
  readonly documents: number;
}

/** From so many matches, or more, is estimated how many rows hold what very many do. */
const ESTIMATED_FROM = 100;

/** Rows that are read for a phrase. */
const PHRASES = 10_000;

/** Sequences, from one parameter that holds them as JSON: their terms, and an ordinal from 1 on. */
export const WANTED = `(SELECT i, ARRAY(SELECT json_array_elements_text(value)) AS terms
                 FROM json_array_elements(?::text::json) WITH ORDINALITY AS e (value, i)) AS w`;

/** How many times the terms of `w` stand side by side in a row `d` that holds each of them. */
export const TIMES = `(SELECT count(*) FROM (
             SELECT FROM unnest(w.terms) WITH ORDINALITY AS t (term, k)
             CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
             GROUP BY at - k HAVING count(*) = cardinality(w.terms)) AS runs)`;

/** How large a scope is. */
export interface ScopeSize {
  /** How many documents it has; where they are more than the sample, an estimate. */
  readonly documents: number;
  /** How many terms they have on average. */
  readonly length: number;
}

/**
 * Measures a scope. The planner's statistics tell how many rows a table has, but not of one that was just filled. So the
 * number is estimated from the table's bytes and those of the sampled rows; long terms stand outside their rows.
 */
export function* sizeOf({ table, rows, values, floor, sample }: Scope): Operation<ScopeSize> {
  const row = yield* first<{ count: number; span: number; length: number; width: number; bytes: number }>(
    `SELECT count(*) AS count, max(n) - ?::bigint AS span, avg(length)::float8 AS length,
            avg(44 + least(width, 2000))::float8 AS width, pg_relation_size(to_regclass('${table}')) AS bytes
     FROM (SELECT d.n, d.length, pg_column_size(d.terms) AS width FROM ${rows} ORDER BY d.n DESC LIMIT ?::bigint) AS sample`,
    floor,
    ...values,
    sample,
  );
  if (row === undefined || row.count === 0) return { documents: 0, length: 1 };
  if (row.count < sample) return { documents: row.count, length: row.length };
  // Where other servers have the rows, this one does not know their bytes.
  const estimated = Math.round(row.bytes === 0 ? row.span : Math.min(row.span, row.bytes / row.width));
  return { documents: Math.max(sample, estimated), length: row.length };
}

/** How the rows of a scope are found that hold a sequence. */
export interface Reach {
  /** The end of a query of the rows `d` that hold all terms of `w`, which binds the values of the scope. */
  readonly holding: string;
  /** So many of them are read; the newest of the scope's `newest` rows are looked at besides. */
  readonly most: number;
  readonly newest: number;
}

/**
 * The rows that hold any of the sequences, scored by BM25 with the constants of FTS5. How rare a sequence is, is measured
 * in the scope: other sessions have no part in it. Which of them are scored, see `SearchDialect.matches`.
 *
 * Where `most` rows or more hold a sequence, those are not the newest. Then the newest rows of the scope are looked at one
 * after the other, until enough of them hold it; how often they do tells how many hold it in all.
 */
export function* findMatches(
  sequences: TermSequences,
  scope: Scope,
  size: ScopeSize,
  { holding, most, newest }: Reach,
  limit: number,
): Operation<Match[]> {
  if (sequences.length === 0) return [];
  const { table, own, values } = scope;
  return yield* all<Match>(
    `WITH given AS MATERIALIZED (
       SELECT ?::float8 AS documents, ?::float8 AS length, ?::bigint AS most, ?::bigint AS newest, ?::bigint AS places
     ), wanted AS MATERIALIZED (
       SELECT w.i, w.terms, cardinality(w.terms) = 1 AS is_word,
              CASE WHEN cardinality(w.terms) = 1 THEN g.most ELSE greatest(g.most, ${PHRASES}) END AS most,
              CASE WHEN cardinality(w.terms) = 1 THEN greatest(g.places, ${FEWEST}) ELSE ${PHRASES} END AS places
       FROM ${WANTED} CROSS JOIN given g
     ), held AS MATERIALIZED (
       SELECT w.i, d.n, d.length, d.documents FROM wanted w CROSS JOIN LATERAL (
         SELECT d.n, d.length, count(*) OVER () AS documents
         FROM (SELECT d.n, d.length FROM ${holding} LIMIT w.most) AS d ORDER BY d.n DESC LIMIT w.places) AS d
     ), known AS MATERIALIZED (
       SELECT w.i, w.terms, w.places, w.is_word, max(h.documents) AS documents, max(h.documents) = w.most AS is_often
       FROM wanted w JOIN held h ON h.i = w.i GROUP BY w.i, w.terms, w.places, w.is_word, w.most
     ), often AS MATERIALIZED (
       SELECT k.i, k.terms, CASE WHEN k.is_word THEN greatest(${ESTIMATED_FROM}, k.places - coalesce(
         (SELECT sum(r.documents) FROM known r WHERE NOT r.is_often), 0)) ELSE k.places END AS places
       FROM known k WHERE k.is_often
     ), recent AS MATERIALIZED (
       SELECT w.i, w.places, d.n, d.length, d.place FROM often w CROSS JOIN LATERAL (
         SELECT d.n, d.length, d.place FROM (
           SELECT d.n, d.length, d.terms, row_number() OVER (ORDER BY d.n DESC) AS place
           FROM (SELECT d.n, d.length, d.terms FROM ${scope.rows} ORDER BY d.n DESC LIMIT (SELECT newest FROM given)) AS d) AS d
         WHERE d.terms @> w.terms LIMIT w.places) AS d
     ), estimated AS MATERIALIZED (
       SELECT r.i, round(g.documents * count(*) / CASE WHEN count(*) < r.places THEN g.newest ELSE max(r.place) END) AS documents
       FROM recent r CROSS JOIN given g GROUP BY r.i, r.places, g.documents, g.newest
     ), candidates AS MATERIALIZED (
       SELECT h.i, h.n, h.length, greatest(h.documents, e.documents::bigint) AS documents FROM held h LEFT JOIN estimated e ON e.i = h.i
       WHERE NOT EXISTS (SELECT FROM recent r WHERE r.i = h.i AND r.n = h.n)
       UNION ALL
       SELECT r.i, r.n, r.length, greatest(w.most, e.documents::bigint)
       FROM recent r JOIN wanted w ON w.i = r.i JOIN estimated e ON e.i = r.i
     ), found AS (
       SELECT c.i, c.n, c.length, NULL::bigint AS times, c.documents
       FROM candidates c JOIN wanted w ON w.i = c.i WHERE w.is_word
       UNION ALL
       SELECT c.i, c.n, c.length, t.times, NULL
       FROM candidates c JOIN wanted w ON w.i = c.i
       CROSS JOIN LATERAL (SELECT d.terms FROM ${table} d WHERE ${own.condition}d.n = c.n OFFSET 0) AS d CROSS JOIN LATERAL ${TIMES} AS t (times)
       WHERE NOT w.is_word AND t.times > 0
     ), counted AS MATERIALIZED (
       SELECT i, n, length, times, coalesce(documents, count(*) OVER (PARTITION BY i)) AS documents,
              row_number() OVER (PARTITION BY i ORDER BY n DESC) AS place
       FROM found
     ), budget AS (
       SELECT i, documents, greatest((SELECT places FROM given) - coalesce(sum(documents) OVER (rarest_first
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0),
         CASE WHEN row_number() OVER rarest_first <= ${RAREST} THEN ${FEWEST} END) AS places
       FROM counted WHERE place = 1 WINDOW rarest_first AS (ORDER BY documents, i)
     ), size AS MATERIALIZED (
       SELECT greatest(g.documents, (SELECT max(documents) FROM budget)) AS documents, g.length FROM given g
     )
     SELECT b.i, c.n, b.documents, greatest(ln((s.documents - b.documents + 0.5) / (b.documents + 0.5)), 0.000001)
                      * t.times * 2.2 / (t.times + 1.2 * (0.25 + 0.75 * c.length / s.length)) AS score
     FROM budget b LEFT JOIN counted c ON c.i = b.i AND c.place <= b.places CROSS JOIN size s
     CROSS JOIN LATERAL (SELECT coalesce(c.times, (
       SELECT cardinality(array_positions(d.terms, w.terms[1])) FROM wanted w, ${table} d
       WHERE ${own.condition}w.i = c.i AND d.n = c.n)) AS times) AS t
     ORDER BY c.n`,
    size.documents,
    size.length,
    most,
    newest,
    limit,
    JSON.stringify(sequences),
    ...[...values, ...values],
    ...[...own.values, ...own.values],
  );
}
