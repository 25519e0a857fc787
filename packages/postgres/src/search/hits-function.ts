import type { TermSequences } from "@stemma/model";
import { FEWEST, messagesOf, nearMessages, RAREST, scoreIn } from "@stemma/model";
import type {
  ChosenSessions,
  FoundMatches,
  FoundRow,
  NumberedSession,
  Operation,
  RowRange,
  SqlValue,
} from "@stemma/store";
import { MOST_NAMED, SPAN, sessionOf } from "@stemma/store";
import { arrayLiteral } from "../drivers/column-types.js";
import { isStorable } from "../error.js";
/** What both functions give of the row of a message. */
export const HIT_COLUMNS = `n BIGINT, id TEXT, session_id TEXT, branch INTEGER, role TEXT, dated_at TEXT, created_at TIMESTAMPTZ, content TEXT,
  covering BIGINT, covered_by TEXT`;

/** What a hit shows of the messages whose rows `h` names. `written` is the transaction that wrote it. */
export const hitsOf = (
  rows: string,
) => `m.n, m.id, m.session_id, m.branch, m.role, m.dated_at, m.created_at, m.content, c.covering, c.covered_by
    FROM ${rows}
    CROSS JOIN LATERAL (SELECT m.*, m.xmin AS written FROM assistant_messages m WHERE m.session_id = h.session_id AND m.n = h.n OFFSET 0) AS m
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE e.branch IS DISTINCT FROM m.branch) AS covering, json_agg(c.id ORDER BY c.n DESC)::TEXT AS covered_by
      FROM assistant_compactions c LEFT JOIN LATERAL (
        SELECT e.branch FROM assistant_messages e WHERE e.session_id = m.session_id AND e.n = c.to_n OFFSET 0) AS e ON TRUE
      WHERE c.session_id = m.session_id AND c.n BETWEEN m.n - m.n % ${SPAN} AND m.n - m.n % ${SPAN} + ${SPAN - 1}
        AND m.n BETWEEN c.from_n AND c.to_n) AS c`;

// Transactions are numbered in a circle.
const isBefore = (transaction: string) => `(${transaction}::TEXT::BIGINT - p_since) & 4294967295 >= 2147483648`;

/** By which a later statement tells what was written since: any transaction from this one on may have gone on then. */
export const SINCE = "pg_snapshot_xmin(pg_current_snapshot())::TEXT::BIGINT";

/**
 * `assistant_hits` gives the rows of messages by their sessions and numbers: see `FoundRow`. Where it is told since when, only those
 * that no transaction has written that was not over by then; nor may one have written to their session, but to append.
 */
export const HITS = `CREATE OR REPLACE FUNCTION assistant_hits(p_sessions TEXT, p_numbers TEXT, p_since BIGINT)
RETURNS TABLE (${HIT_COLUMNS}) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN QUERY SELECT ${hitsOf("unnest(p_sessions::TEXT[], p_numbers::BIGINT[]) AS h (session_id, n)")}
    WHERE p_since IS NULL OR ${isBefore("m.written")}
      AND EXISTS (SELECT FROM assistant_sessions s WHERE s.id = m.session_id AND ${isBefore("s.xmin")});
END $$`;

/** What the first row of `MATCHES` holds. */
interface CalledMatches {
  /** How many messages there are, and how many terms each of them has on average. */
  readonly total: number;
  readonly mean: number;
  /** Of each sequence: how many messages hold it, those that are scored, and others. */
  readonly documents: readonly number[];
  readonly scored: readonly (readonly [...FoundTuple, lengths: number[], times: number[]] | null)[];
  readonly others: readonly (readonly [numbers: number[] | null, sessions: string[] | null] | null)[];
  /** Of messages whose session has several. */
  readonly branches: readonly [numbers: number[] | null, sessions: string[] | null, branches: number[] | null] | null;
  readonly since: number;
}

type FoundTuple = readonly [numbers: number[], sessions: string[]];

const rowsOf = (found: CalledMatches["scored" | "others"][number] | undefined): FoundRows => ({
  numbers: found?.[0] ?? [],
  sessions: found?.[1] ?? [],
});

/** A query whose text is sent again and again, unless said otherwise. */
export function* frequentQuery<R>(sql: string, values: readonly SqlValue[], isFrequent = true): Operation<R[]> {
  return (yield { sql, values, isFrequent }) as R[];
}

const GIVEN = "?, ?, ?, ?, ?, ?)";

function givenTo(sequences: TermSequences, limit: number, shown: number, range?: RowRange): SqlValue[] {
  // The only word, which takes less.
  const word = sequences.flat().length === 1 ? (sequences[0]?.[0] ?? null) : null;
  return [range?.lo ?? null, range?.hi ?? null, arrayLiteral(sequences.map(arrayLiteral)), word, limit, shown];
}

/** See `SearchDialect.matches`: by the functions of `search-function.ts`. */
export function* callMatches(
  sequences: TermSequences,
  range: RowRange,
  limit: number,
  shown: number,
): Operation<FoundMatches> {
  const [call, own] = callOf(range);
  const given = givenTo(sequences, limit, shown, range);
  const [first, ...rows] = yield* frequentQuery<CalledRow>(`SELECT * FROM ${call}${GIVEN}`, [...own, ...given]);
  return readMatches(sequences, first, rows);
}

function callOf(range: RowRange): [call: string, own: SqlValue[]] {
  const { sessionId = null, several } = range ?? {};
  if (sessionId !== null) return ["assistant_matches_in(?, ", [sessionId]];
  return several === undefined
    ? ["assistant_matches(", []]
    : ["assistant_matches_among(?::text::text[], ", [arrayLiteral(several.ids)]];
}

/** See `SearchDialect.matchesOf`. */
export function* callMatchesOf(
  sequences: TermSequences,
  { ids, where: { condition, values }, isFrequent }: ChosenSessions,
  limit: number,
  shown: number,
): Operation<FoundMatches | null> {
  // Not `= ANY`: where such an array is long, Postgres may compare each session with each of its ids.
  const [named, names] =
    ids === null
      ? ["", []]
      : ["s.id IN (SELECT unnest(?::text::text[])) AND ", [arrayLiteral(ids.filter((id) => isStorable(id)))]];
  const given = givenTo(sequences, limit, shown, EVERY_ROW);
  const statement = `SELECT c.amount, f.* FROM (
      SELECT count(*)::INTEGER AS amount, array_agg(s.id) AS ids FROM (
        SELECT s.id FROM assistant_sessions s WHERE ${named}${condition} LIMIT ${MOST_NAMED + 1}) AS s) AS c
    LEFT JOIN LATERAL (
      SELECT * FROM assistant_matches_in(c.ids[1], ${GIVEN} WHERE c.amount = 1
      UNION ALL SELECT * FROM assistant_matches_among(c.ids, ${GIVEN} WHERE c.amount BETWEEN 2 AND ${MOST_NAMED}) AS f ON TRUE`;
  const [first, ...rows] = yield* frequentQuery<CalledRow & { readonly amount: number }>(
    statement,
    [...names, ...values, ...given, ...given],
    isFrequent,
  );
  return first !== undefined && first.amount > MOST_NAMED ? null : readMatches(sequences, first, rows);
}

/** The numbers of a session's rows are not needed where they name it. */
const EVERY_ROW = { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId: null };

/** The first row of a call tells of all matches, where there are any; the others are rows of messages. */
type CalledRow = FoundRow & { readonly matches: string | null };

function readMatches(sequences: TermSequences, first: CalledRow | undefined, rows: readonly FoundRow[]): FoundMatches {
  const nothing = { total: 0, mean: 1, documents: sequences.map(() => 0), scored: [], others: [], branches: null };
  const found: CalledMatches = first?.matches == null ? nothing : JSON.parse(first.matches);
  const { sessions, numberOf, findNumber, numbersOf } = numberSessions(found.scored.map(rowsOf));
  const size = { documents: Math.max(found.total, ...found.documents), length: found.mean };
  const matches = found.documents.map((count, index) => {
    const [numbers = [], sessions = [], lengths = [], times = []] = found.scored[index] ?? [];
    const score = scoreIn(size, count);
    const numbered = numbers.map((rowId, index) => ({
      number: numberOf(rowId, sessions[index] as string),
      score: score(times[index] as number, lengths[index] as number),
    }));
    // Rows of sessions that share a number come mixed.
    numbered.sort((a, b) => a.number - b.number);
    return {
      documents: count,
      complete: numbered.length === count,
      numbers: numbered.map(({ number }) => number),
      scores: numbered.map(({ score }) => score),
    };
  });
  const messages = messagesOf(matches);
  const othersOf = (index: number) => nearMessages(numbersOf(rowsOf(found.others[index])), messages);
  const isWhole = rows.length > 0;
  // Rows that may stand near a match are of any session.
  const branches = new Map<number, number>();
  for (const { n: rowId, session_id, branch } of isWhole ? rows : branchesOf(found)) {
    const number = findNumber(rowId, session_id);
    if (number !== null) branches.set(number, branch);
  }
  return {
    sequences: matches.map((each, index) => ({ ...each, others: othersOf(index) })),
    branches,
    sessions,
    since: found.since,
    rows: isWhole ? rows : undefined,
  };
}

type BranchOfRow = Pick<FoundRow, "n" | "session_id" | "branch">;

function branchesOf({ branches }: CalledMatches): BranchOfRow[] {
  const [numbers, sessions, found] = branches ?? [];
  return (numbers ?? []).map((rowId, index) => ({
    n: rowId,
    session_id: sessions?.[index] as string,
    branch: found?.[index] as number,
  }));
}

/** Rows of messages: the number of each, and its session. */
export interface FoundRows {
  readonly numbers: readonly number[];
  readonly sessions: readonly string[];
}

/** What tells rows of several sessions apart, whose own numbers do not. */
export interface Numbering {
  /** The first has the number 1. */
  readonly sessions: readonly NumberedSession[];
  /** Of a row whose session has one. */
  numberOf(rowId: number, session: string): number;
  /** Null for a row whose session has none. */
  findNumber(rowId: number, session: string): number | null;
  /** Those of rows whose session has a number, ascending, each once. */
  numbersOf(rows: FoundRows): number[];
}

interface Numbered extends NumberedSession {
  number: number;
  /** Another one of the same id: the rows of one that is gone may be left. */
  readonly next: Numbered | undefined;
}

/** Numbers the sessions of rows for one call, in the order of the rows, so that a row's number says of which session it is. */
export function numberSessions(lists: readonly FoundRows[]): Numbering {
  // By the id alone: to make a key of it and the number, for each row, would be half of the work.
  const named = new Map<string, Numbered>();
  const find = (no: number, id: string): Numbered | undefined => {
    let session = named.get(id);
    while (session !== undefined && session.no !== no) session = session.next;
    return session;
  };
  const sessions: Numbered[] = [];
  for (const { numbers, sessions: ids } of lists) {
    for (let index = 0; index < numbers.length; index += 1) {
      const no = sessionOf(numbers[index] as number);
      const id = ids[index] as string;
      if (find(no, id) !== undefined) continue;
      const session = { id, no, number: 0, next: named.get(id) };
      named.set(id, session);
      sessions.push(session);
    }
  }
  sessions.sort((a, b) => a.no - b.no || (a.id < b.id ? -1 : 1));
  for (const [index, session] of sessions.entries()) session.number = index + 1;
  const findNumber = (rowId: number, id: string): number | null => {
    const session = find(sessionOf(rowId), id);
    return session === undefined ? null : session.number * SPAN + (rowId % SPAN);
  };
  return {
    sessions,
    numberOf: (rowId, id) => findNumber(rowId, id) as number,
    findNumber,
    numbersOf: ({ numbers, sessions: ids }) => {
      const found = new Float64Array(numbers.length);
      let length = 0;
      for (let index = 0; index < numbers.length; index += 1) {
        const number = findNumber(numbers[index] as number, ids[index] as string);
        if (number !== null) found[length++] = number;
      }
      // Numbers of such an array are compared as numbers.
      return Array.from(found.subarray(0, length).sort()).filter((number, index, all) => number !== all[index - 1]);
    },
  };
}

/** How many of the newest matches of each sequence are scored, by how many there are: see `SearchDialect.matches`. */
export function quotasOf(counts: readonly number[], limit: number): number[] {
  const rarestFirst = [...counts.keys()].sort((a, b) => (counts[a] as number) - (counts[b] as number) || a - b);
  const quotas = counts.map(() => 0);
  let taken = 0;
  let rank = 0;
  for (const index of rarestFirst) {
    if (counts[index] === 0) continue;
    rank += 1;
    quotas[index] = Math.max(limit - taken, rank <= RAREST ? FEWEST : 0);
    taken += counts[index] as number;
  }
  return quotas;
}

/** Rows that are read for a phrase. */
export const PHRASES = 10_000;

/** How many times the terms of the array `wanted` stand side by side in a row `d` that holds each of them. */
export const timesOfPhrase = (wanted: string): string => `(SELECT count(*) FROM (
    SELECT FROM unnest(${wanted}) WITH ORDINALITY AS t (term, k) CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
    GROUP BY at - k HAVING count(*) = cardinality(${wanted})) AS runs)`;
