import { FEWEST, RAREST } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type { Condition, SequenceMatches } from "../engine/dialect.js";
import { all, first, type Operation, type SqlValue } from "../engine/operation.js";
import { arrayLiteral } from "./array-literal.js";

/** Rows that are read for a phrase. */
const PHRASES = 10_000;

/**
 * Search in tables that are spread over servers, where a statement of all sessions cannot look at a row by another one. So the
 * servers count first; then each gives its newest rows, with what a score is made of.
 */
export function* matchesOfAll(
  sequences: TermSequences,
  within: Condition,
  limit: number,
): Operation<SequenceMatches[]> {
  if (sequences.length === 0) return [];
  const size = yield* sizeOf(within);
  const counts = yield* countHolding(sequences, within);
  const phrases = new Map<number, NewestRow[]>();
  for (const [index, terms] of sequences.entries()) {
    if (terms.length === 1 || counts[index] === 0) continue;
    const held = (yield* newestHolding(terms, within, PHRASES)).filter(({ times }) => times > 0);
    phrases.set(index, held);
    counts[index] = held.length;
  }
  const documents = Math.max(size.documents, ...counts);
  const found: SequenceMatches[] = [];
  for (const [index, places] of placesOf(counts, limit).entries()) {
    const terms = sequences[index] as readonly string[];
    const count = counts[index] as number;
    const newest =
      count === 0 || places <= 0 ? [] : (phrases.get(index) ?? (yield* newestHolding(terms, within, places)));
    const rows = newest.slice(0, Math.max(0, places)).reverse();
    const rarity = Math.max(Math.log((documents - count + 0.5) / (count + 0.5)), 0.000001);
    found.push({
      documents: count,
      complete: rows.length === count,
      numbers: rows.map(({ n: rowId }) => rowId),
      scores: rows.map(
        ({ times, length }) => (rarity * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * length) / size.length)),
      ),
    });
  }
  return found;
}

/** The rows `among` those given, or all, that hold a sequence; ascending. */
export function* holdingOfAll(
  terms: readonly string[],
  { condition, values }: Condition,
  among: readonly number[] | null,
): Operation<number[]> {
  // Joined with: `= ANY` of a bound text would be read anew for each row of each shard.
  const [some, numbers] =
    among === null ? ["", []] : ["JOIN unnest(?::text::bigint[]) AS g (n) ON g.n = d.n ", [`{${among.join(",")}}`]];
  const { sql, values: bound } = TIMES(terms);
  const rows = yield* all<{ n: number }>(
    `SELECT d.n AS n FROM assistant_fts d ${some}WHERE ${condition} AND d.terms @> ?::text::text[] AND ${sql} > 0 ORDER BY n`,
    ...[...numbers, ...values, arrayLiteral(terms), ...bound],
  );
  return rows.map(({ n: rowId }) => rowId);
}

interface NewestRow {
  readonly n: number;
  readonly length: number;
  readonly times: number;
}

// How many times terms stand side by side in a row `d` that holds each of them.
function TIMES(terms: readonly string[]): { readonly sql: string; readonly values: SqlValue[] } {
  if (terms.length === 1)
    return { sql: "cardinality(array_positions(d.terms, ?::text))", values: [terms[0] as string] };
  const sql = `(SELECT count(*) FROM (
      SELECT FROM unnest(?::text::text[]) WITH ORDINALITY AS t (term, k)
      CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
      GROUP BY at - k HAVING count(*) = ?::bigint) AS runs)`;
  return { sql, values: [arrayLiteral(terms), terms.length] };
}

function* newestHolding(terms: readonly string[], within: Condition, limit: number): Operation<NewestRow[]> {
  const { sql, values } = TIMES(terms);
  return yield* all<NewestRow>(
    `SELECT d.n AS n, d.length AS length, ${sql} AS times FROM assistant_fts d
     WHERE ${within.condition} AND d.terms @> ?::text::text[] ORDER BY n DESC LIMIT ?`,
    ...[...values, ...within.values, arrayLiteral(terms), limit],
  );
}

function* sizeOf({ condition, values }: Condition): Operation<{ documents: number; length: number }> {
  const row = yield* first<{ documents: number; length: number | null }>(
    `SELECT count(*) AS documents, avg(d.length)::float8 AS length FROM assistant_fts d WHERE ${condition}`,
    ...values,
  );
  return { documents: Number(row?.documents ?? 0), length: row?.length || 1 };
}

function* countHolding(sequences: TermSequences, { condition, values }: Condition): Operation<number[]> {
  const arrays = sequences.map((terms) => arrayLiteral(terms));
  const counts = sequences.map((_, index) => `count(*) FILTER (WHERE d.terms @> ?::text::text[]) AS c${index}`);
  const any = sequences.map(() => "d.terms @> ?::text::text[]").join(" OR ");
  const row = yield* first<Record<string, number>>(
    `SELECT ${counts.join(", ")} FROM assistant_fts d WHERE ${condition} AND (${any})`,
    ...[...arrays, ...values, ...arrays],
  );
  return sequences.map((_, index) => Number(row?.[`c${index}`] ?? 0));
}

// How many of the newest matches of each sequence are scored: see `SearchDialect.matches`.
function placesOf(counts: readonly number[], limit: number): number[] {
  const rarestFirst = [...counts.keys()].sort((a, b) => (counts[a] as number) - (counts[b] as number) || a - b);
  const places = counts.map(() => 0);
  let taken = 0;
  let rank = 0;
  for (const index of rarestFirst) {
    if (counts[index] === 0) continue;
    rank += 1;
    places[index] = Math.max(limit - taken, rank <= RAREST ? FEWEST : 0);
    taken += counts[index] as number;
  }
  return places;
}
