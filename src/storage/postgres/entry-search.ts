import { type ScopeSize, scoreIn } from "../../model/bm25.js";
import type { Ranked } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import { bestEntries } from "../engine/best-entries.js";
import { all, first, type Operation, type SqlValue } from "../engine/operation.js";
import { timesOfPhrase } from "./phrase.js";
import { quotasOf } from "./quotas.js";

/** How many entries are counted, and their lengths averaged; so many of those that hold a sequence are read: the newest. */
const SAMPLED = 10_000;

const TABLE = "cf_agents_search_fts";

/** Entries `e` for which a condition holds. */
export interface EntryScope {
  readonly where: string;
  readonly values: readonly SqlValue[];
}

/** See `SearchDialect.entries`. */
export function* searchEntries(
  sequences: TermSequences,
  { where, values }: EntryScope,
  limit: number,
): Operation<Ranked[]> {
  if (sequences.length === 0) return [];
  const rows = `${TABLE} d JOIN cf_agents_search_entries e ON e.session_id = d.session_id AND e.n = d.n WHERE ${where}`;
  const size = yield* sizeOf(rows, values);
  const found = yield* findHolding(sequences, rows, values);
  const counts = found.map((matches) => matches[0]?.documents ?? 0);
  const documents = Math.max(size.documents, ...counts);
  const scores = new Map<number, number>();
  for (const [index, quota] of quotasOf(counts, SAMPLED).entries()) {
    const score = scoreIn({ ...size, documents }, counts[index] as number);
    for (const { n: rowId, times, length } of (found[index] as Match[]).slice(0, quota)) {
      scores.set(rowId, (scores.get(rowId) ?? 0) + score(times, length));
    }
  }
  return bestEntries(scores, limit);
}

interface Match {
  /** Which sequence it holds, from 1 on, and how many times. */
  readonly i: number;
  readonly times: number;
  readonly n: number;
  readonly length: number;
  /** How many rows hold the sequence. */
  readonly documents: number;
}

// Of each sequence the rows that hold it, the newest first.
function* findHolding(sequences: TermSequences, rows: string, values: readonly SqlValue[]): Operation<Match[][]> {
  const query = `WITH wanted AS MATERIALIZED (
       SELECT w.i, ARRAY(SELECT json_array_elements_text(w.terms)) AS terms
       FROM json_array_elements(?::text::json) WITH ORDINALITY AS w (terms, i)
     ), held AS MATERIALIZED (
       SELECT w.i, d.n, d.length, d.documents, CASE cardinality(w.terms)
         WHEN 1 THEN cardinality(array_positions(d.terms, w.terms[1]))
         ELSE ${timesOfPhrase("w.terms")} END AS times
       FROM wanted w CROSS JOIN LATERAL (
         SELECT d.n, d.length, d.terms, count(*) OVER () AS documents
         FROM ${rows} AND d.terms @> w.terms ORDER BY d.n DESC LIMIT ${SAMPLED}) AS d
     )
     SELECT h.i, h.n, h.length, h.times, h.documents FROM held h WHERE h.times > 0 ORDER BY h.i, h.n DESC`;
  const matches = yield* all<Match>(query, JSON.stringify(sequences), ...values);
  return sequences.map((terms, index) => {
    const held = matches.filter(({ i }) => i === index + 1);
    return terms.length === 1 ? held : held.map((match) => ({ ...match, documents: held.length }));
  });
}

// The planner's statistics tell how many rows a table has, but not of one that was just filled. So the number is estimated
// from the table's bytes and those of the sampled rows; long terms stand outside their rows.
function* sizeOf(rows: string, values: readonly SqlValue[]): Operation<ScopeSize> {
  const row = yield* first<{ count: number; span: number; length: number; width: number; bytes: number }>(
    `SELECT count(*) AS count, max(n) AS span, avg(length)::float8 AS length,
            avg(44 + least(width, 2000))::float8 AS width, pg_relation_size(to_regclass('${TABLE}')) AS bytes
     FROM (SELECT d.n, d.length, pg_column_size(d.terms) AS width FROM ${rows} ORDER BY d.n DESC LIMIT ${SAMPLED}) AS sample`,
    ...values,
  );
  if (row === undefined || row.count === 0) return { documents: 0, length: 1 };
  if (row.count < SAMPLED) return { documents: row.count, length: row.length };
  // Where other servers have the rows, this one does not know their bytes.
  const estimated = Math.round(row.bytes === 0 ? row.span : Math.min(row.span, row.bytes / row.width));
  return { documents: Math.max(SAMPLED, estimated), length: row.length };
}
