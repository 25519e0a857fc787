import type { ScopeSize } from "../../model/bm25.js";
import type { TermSequences } from "../../model/terms.js";
import { all, type Condition, first, type Operation, type SqlValue } from "../engine/operation.js";
import { arrayLiteral } from "./array-literal.js";
import type { FoundRows } from "./numbered-rows.js";
import { timesOfPhrase } from "./phrase.js";

/** The rows `among` those given, or all, that hold a sequence. */
export function* holdingOf(
  terms: readonly string[],
  { condition, values }: Condition,
  among: FoundRows | null,
): Operation<Pick<NewestRow, "n" | "session_id">[]> {
  // Joined with: `= ANY` of a bound text would be read anew for each row of each shard.
  const given = "unnest(?::text::text[], ?::text::bigint[]) AS g (session_id, n)";
  const [some, pairs] =
    among === null
      ? ["", []]
      : [
          `JOIN ${given} ON g.session_id = d.session_id AND g.n = d.n `,
          [arrayLiteral(among.sessions), `{${among.numbers.join(",")}}`],
        ];
  const { sql, values: bound } = timesOf(terms);
  return yield* all<Pick<NewestRow, "n" | "session_id">>(
    `SELECT d.n AS n, d.session_id AS session_id FROM assistant_fts d ${some}
     WHERE ${condition} AND d.terms @> ?::text::text[] AND ${sql} > 0`,
    ...[...pairs, ...values, arrayLiteral(terms), ...bound],
  );
}

/** A row that holds a sequence, with what its score is made of. */
export interface NewestRow {
  readonly n: number;
  readonly session_id: string;
  readonly length: number;
  readonly times: number;
}

// How many times terms stand side by side in a row `d` that holds each of them.
function timesOf(terms: readonly string[]): { readonly sql: string; readonly values: SqlValue[] } {
  if (terms.length === 1)
    return { sql: "cardinality(array_positions(d.terms, ?::text))", values: [terms[0] as string] };
  // Not an array as a text: to read one is not immutable, as Citus wants what a subquery of several shards selects from.
  const wanted = terms.join(" ");
  return { sql: timesOfPhrase("string_to_array(?::text, ' ')"), values: [wanted, wanted] };
}

/** The newest rows that hold a sequence. */
export function* newestHolding(terms: readonly string[], within: Condition, limit: number): Operation<NewestRow[]> {
  const { sql, values } = timesOf(terms);
  const query = `SELECT d.n AS n, d.session_id AS session_id, d.length AS length, ${sql} AS times FROM assistant_fts d
     WHERE ${within.condition} AND d.terms @> ?::text::text[] ORDER BY n DESC, session_id DESC LIMIT ?`;
  return yield* all<NewestRow>(query, ...[...values, ...within.values, arrayLiteral(terms), limit]);
}

/** How large a scope is. */
export function* sizeOf({ condition, values }: Condition): Operation<ScopeSize> {
  const query = `SELECT count(*) AS documents, avg(d.length)::float8 AS length FROM assistant_fts d WHERE ${condition}`;
  const row = yield* first<{ documents: number; length: number | null }>(query, ...values);
  return { documents: Number(row?.documents ?? 0), length: row?.length || 1 };
}

/** How many rows hold each sequence. */
export function* countHolding(sequences: TermSequences, { condition, values }: Condition): Operation<number[]> {
  const arrays = sequences.map((terms) => arrayLiteral(terms));
  const counts = sequences.map((_, index) => `count(*) FILTER (WHERE d.terms @> ?::text::text[]) AS c${index}`);
  const any = sequences.map(() => "d.terms @> ?::text::text[]").join(" OR ");
  const query = `SELECT ${counts.join(", ")} FROM assistant_fts d WHERE ${condition} AND (${any})`;
  const row = yield* first<Record<string, number>>(query, ...[...arrays, ...values, ...arrays]);
  return sequences.map((_, index) => Number(row?.[`c${index}`] ?? 0));
}
