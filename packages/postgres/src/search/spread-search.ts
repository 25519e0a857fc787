import type { TermSequences } from "@stemma/model";
import { messagesOf, nearMessages, needOthers, neighboursOf, type ScopeSize, scoreIn } from "@stemma/model";
import type { FoundMatches, RowRange, SequenceMatches } from "@stemma/store";
import { all, type Condition, first, type Operation, SPAN, type SqlValue, sessionOf } from "@stemma/store";
import { arrayLiteral } from "../drivers/column-types.js";
import { type FoundRows, MANY, type Numbering, numberSessions, PHRASES, quotasOf, timesOfPhrase } from "./matches.js";
/**
 * Search in tables that are spread over servers, where a statement of all sessions cannot look at a row by another one. So the
 * servers count first; then each gives its newest rows, with what a score is made of. See `SearchDialect.matches`.
 */
export function* spreadMatches(sequences: TermSequences, range: RowRange, limit: number): Operation<FoundMatches> {
  const within = boundsOf(range);
  const newest = yield* scoreNewest(sequences, within, limit);
  const numbering = numberSessions(newest.map(({ rows }) => rowsOf(rows)));
  const found = newest.map(({ rows, scoreOf, ...sequence }) => {
    const scored = rows
      .map((row) => ({ number: numbering.numberOf(row.n, row.session_id, row.length), score: scoreOf(row) }))
      .sort((a, b) => a.number - b.number);
    return {
      ...sequence,
      numbers: scored.map(({ number }) => number),
      scores: scored.map(({ score }) => score),
      others: [],
    };
  });
  const { sessions, lengths } = numbering;
  const sequencesFound = needOthers(found) ? yield* withOthers(sequences, within, found, numbering) : found;
  return { sequences: sequencesFound, lengths, branches: null, sessions };
}

const rowsOf = (rows: readonly FoundHolding[]): FoundRows => ({
  numbers: rows.map(({ n: rowId }) => rowId),
  sessions: rows.map(({ session_id }) => session_id),
  lengths: rows.map(({ length }) => length),
});

function boundsOf(range: RowRange): Condition {
  const { lo, hi, sessionId, several } = range ?? { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId: null };
  const bounds = "d.n BETWEEN ? AND ?";
  if (sessionId !== null) return { condition: `d.session_id = ? AND ${bounds}`, values: [sessionId, lo, hi] };
  if (several === undefined) return { condition: bounds, values: [lo, hi] };
  const ids = arrayLiteral(several.ids);
  return { condition: `d.session_id = ANY (?::text::text[]) AND ${bounds}`, values: [ids, lo, hi] };
}

/** The newest rows that hold a sequence, and what a row scores by it. */
interface Newest extends Pick<SequenceMatches, "documents" | "complete"> {
  readonly rows: readonly NewestRow[];
  readonly scoreOf: (row: NewestRow) => number;
}

function* scoreNewest(sequences: TermSequences, within: Condition, limit: number): Operation<Newest[]> {
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
  const found: Newest[] = [];
  for (const [index, quota] of quotasOf(counts, limit).entries()) {
    const terms = sequences[index] as readonly string[];
    const count = counts[index] as number;
    const newest =
      count === 0 || quota <= 0 ? [] : (phrases.get(index) ?? (yield* newestHolding(terms, within, quota)));
    const rows = newest.slice(0, Math.max(0, quota));
    const score = scoreIn({ ...size, documents }, count);
    const scoreOf = ({ times, length }: NewestRow) => score(times, length);
    found.push({ documents: count, complete: rows.length === count, rows, scoreOf });
  }
  return found;
}

function* withOthers(
  sequences: TermSequences,
  within: Condition,
  found: readonly SequenceMatches[],
  { sessions, numbersOf }: Numbering,
): Operation<SequenceMatches[]> {
  const messages = messagesOf(found);
  const rowsAt = (numbers: Iterable<number>): Addresses => {
    const numbered = Array.from(numbers, (number) => ({ number, session: sessions[sessionOf(number) - 1] }));
    return {
      numbers: numbered.map(({ number, session }) => (session?.no ?? 0) * SPAN + (number % SPAN)),
      sessions: numbered.map(({ session }) => session?.id ?? ""),
    };
  };
  const near = neighboursOf(messages);
  const all: SequenceMatches[] = [];
  for (const [index, matches] of found.entries()) {
    const { complete, numbers, documents } = matches;
    if (complete || numbers.length === 0) {
      all.push(matches);
      continue;
    }
    const terms = sequences[index] as readonly string[];
    const among = documents >= MANY ? rowsAt(messages) : terms.length > 1 ? rowsAt(near) : null;
    const holding = yield* holdingOf(terms, within, among);
    all.push({ ...matches, others: nearMessages(numbersOf(rowsOf(holding)), messages) });
  }
  return all;
}

type Addresses = Pick<FoundRows, "numbers" | "sessions">;

/** Finds rows that hold a sequence, of all or of those in `among`. */
function* holdingOf(
  terms: readonly string[],
  { condition, values }: Condition,
  among: Addresses | null,
): Operation<FoundHolding[]> {
  // Joined with: `= ANY` of a bound text would be read anew for each row of each shard.
  const addresses = "unnest(?::text::text[], ?::text::bigint[]) AS g (session_id, n)";
  const [some, pairs] =
    among === null
      ? ["", []]
      : [
          `JOIN ${addresses} ON g.session_id = d.session_id AND g.n = d.n `,
          [arrayLiteral(among.sessions), `{${among.numbers.join(",")}}`],
        ];
  const { sql, values: bound } = timesOf(terms);
  return yield* all<FoundHolding>(
    `SELECT d.n AS n, d.session_id AS session_id, d.length AS length FROM assistant_fts d ${some}
     WHERE ${condition} AND d.terms @> ?::text::text[] AND ${sql} > 0`,
    ...[...pairs, ...values, arrayLiteral(terms), ...bound],
  );
}

/** A row that holds a sequence, and its length in terms. */
interface FoundHolding {
  readonly n: number;
  readonly session_id: string;
  readonly length: number;
}

/** A row with what its score is made of. */
interface NewestRow extends FoundHolding {
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
function* newestHolding(terms: readonly string[], within: Condition, limit: number): Operation<NewestRow[]> {
  const { sql, values } = timesOf(terms);
  const query = `SELECT d.n AS n, d.session_id AS session_id, d.length AS length, ${sql} AS times FROM assistant_fts d
     WHERE ${within.condition} AND d.terms @> ?::text::text[] ORDER BY n DESC, session_id DESC LIMIT ?`;
  return yield* all<NewestRow>(query, ...[...values, ...within.values, arrayLiteral(terms), limit]);
}

/** How large a scope is. */
function* sizeOf({ condition, values }: Condition): Operation<ScopeSize> {
  const query = `SELECT count(*) AS documents, avg(d.length)::float8 AS length FROM assistant_fts d WHERE ${condition}`;
  const row = yield* first<{ documents: number; length: number | null }>(query, ...values);
  return { documents: Number(row?.documents ?? 0), length: row?.length || 1 };
}

/** How many rows hold each sequence. */
function* countHolding(sequences: TermSequences, { condition, values }: Condition): Operation<number[]> {
  const arrays = sequences.map((terms) => arrayLiteral(terms));
  const counts = sequences.map((_, index) => `count(*) FILTER (WHERE d.terms @> ?::text::text[]) AS c${index}`);
  const any = sequences.map(() => "d.terms @> ?::text::text[]").join(" OR ");
  const query = `SELECT ${counts.join(", ")} FROM assistant_fts d WHERE ${condition} AND (${any})`;
  const row = yield* first<Record<string, number>>(query, ...[...arrays, ...values, ...arrays]);
  return sequences.map((_, index) => Number(row?.[`c${index}`] ?? 0));
}
