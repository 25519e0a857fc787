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
/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
export const MANY = 2_000;

/** Rows that are read for a phrase. */
export const PHRASES = 10_000;

/** The JSON in the first row of `assistant_matches`. */
interface CalledMatches {
  /** How many messages there are, and how many terms each of them has on average. */
  readonly total: number;
  readonly mean: number;
  /** Of each sequence: how many messages hold it, those that are scored, and others. */
  readonly documents: readonly number[];
  readonly scored: readonly (readonly [...FoundTuple, lengths: number[], times: number[]] | null)[];
  readonly others: readonly (
    | readonly [numbers: number[] | null, sessions: string[] | null, lengths: number[] | null]
    | null
  )[];
  /** Of messages whose session has several. */
  readonly branches?: readonly [numbers: number[] | null, sessions: string[] | null, branches: number[] | null] | null;
  /** Missing where the rows of all follow, and nothing is read later. */
  readonly since?: number;
}

type FoundTuple = readonly [numbers: number[], sessions: string[]];

const rowsOf = (found: CalledMatches["scored" | "others"][number] | undefined): FoundRows => ({
  numbers: found?.[0] ?? [],
  sessions: found?.[1] ?? [],
  lengths: found?.[2] ?? [],
});

/** Runs a query whose text is sent again and again, unless said otherwise. */
export function* frequentQuery<R>(sql: string, values: readonly SqlValue[], isFrequent = true): Operation<R[]> {
  return (yield { sql, values, isFrequent }) as R[];
}

/** Finds matches by `assistant_matches`. See `SearchDialect.matches`. */
export function* callMatches(
  sequences: TermSequences,
  range: RowRange,
  limit: number,
  shown: number,
): Operation<FoundMatches> {
  const { sessionId = null, several } = range ?? {};
  const ids = sessionId === null ? several?.ids : [sessionId].filter(isStorable);
  // Sessions are found by their ids.
  const { lo = null, hi = null } = ids === undefined ? (range ?? {}) : {};
  const values = [ids === undefined ? null : arrayLiteral(ids), lo, hi, ...wantedOf(sequences, limit, shown)];
  const call = "SELECT * FROM assistant_matches(?::text::text[], ?, ?, ?, ?, ?)";
  const [first, ...rows] = yield* frequentQuery<CalledRow>(call, values);
  return readMatches(sequences, first, rows);
}

const wantedOf = (sequences: TermSequences, limit: number, shown: number): SqlValue[] => [
  arrayLiteral(sequences.map(arrayLiteral)),
  limit,
  shown,
];

/** Finds sessions, and matches in them, by one statement. See `SearchDialect.matchesOf`. */
export function* callMatchesOf(
  sequences: TermSequences,
  { ids, where: { condition, values }, isFrequent }: ChosenSessions,
  limit: number,
  shown: number,
): Operation<FoundMatches | null> {
  // Not `= ANY`: where such an array is long, Postgres may compare each session with each of its ids.
  const [named, names] =
    ids === null ? ["", []] : ["s.id IN (SELECT unnest(?::text::text[])) AND ", [arrayLiteral(ids.filter(isStorable))]];
  const statement = `SELECT c.amount, f.* FROM (
      SELECT count(*)::INTEGER AS amount, array_agg(s.id) AS ids FROM (
        SELECT s.id FROM assistant_sessions s WHERE ${named}${condition} LIMIT ${MOST_NAMED + 1}) AS s) AS c
    LEFT JOIN LATERAL (
      SELECT * FROM assistant_matches(c.ids, NULL, NULL, ?, ?, ?) WHERE c.amount BETWEEN 1 AND ${MOST_NAMED}) AS f ON TRUE`;
  const [first, ...rows] = yield* frequentQuery<CalledRow & { readonly amount: number }>(
    statement,
    [...names, ...values, ...wantedOf(sequences, limit, shown)],
    isFrequent,
  );
  return first !== undefined && first.amount > MOST_NAMED ? null : readMatches(sequences, first, rows);
}

/** The first row of a call tells of all matches, where there are any; the others are rows of messages. */
type CalledRow = FoundRow & { readonly matches: string | null };

function readMatches(sequences: TermSequences, first: CalledRow | undefined, rows: readonly FoundRow[]): FoundMatches {
  const nothing = { total: 0, mean: 1, documents: sequences.map(() => 0), scored: [], others: [], branches: null };
  const found: CalledMatches = first?.matches == null ? nothing : JSON.parse(first.matches);
  const { sessions, findNumber, numbersOf, lengths, numberOf } = numberSessions(found.scored.map(rowsOf));
  const size = { documents: Math.max(found.total, ...found.documents), length: found.mean };
  const matches = found.documents.map((count, index) => {
    const [numbers = [], sessions = [], lengths = [], times = []] = found.scored[index] ?? [];
    const score = scoreIn(size, count);
    const numbered = numbers.map((rowId, index) => ({
      number: numberOf(rowId, sessions[index] as string, lengths[index] as number),
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
    lengths,
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

/** Rows of messages: the number of each, its session, and how many terms it has. */
export interface FoundRows {
  readonly numbers: readonly number[];
  readonly sessions: readonly string[];
  readonly lengths: readonly number[];
}

/** Numbers that tell rows of several sessions apart, which may share their own. */
export interface Numbering {
  /** The first has the number 1. */
  readonly sessions: readonly NumberedSession[];
  /** The lengths of the rows that `numberOf` and `numbersOf` were told of, by their numbers. */
  readonly lengths: ReadonlyMap<number, number>;
  /** The number of a row of such a length whose session has one. */
  numberOf(rowId: number, session: string, length: number): number;
  /** The number of a row; null where its session has none. */
  findNumber(rowId: number, session: string): number | null;
  /** The numbers of rows whose session has one, ascending, each once. */
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
  const lengths = new Map<number, number>();
  return {
    sessions,
    lengths,
    numberOf: (rowId, id, rowLength) => {
      const number = findNumber(rowId, id) as number;
      lengths.set(number, rowLength);
      return number;
    },
    findNumber,
    numbersOf: ({ numbers, sessions: ids, lengths: rowLengths }) => {
      const found = new Float64Array(numbers.length);
      let length = 0;
      for (let index = 0; index < numbers.length; index += 1) {
        const number = findNumber(numbers[index] as number, ids[index] as string);
        if (number === null) continue;
        found[length++] = number;
        lengths.set(number, rowLengths[index] as number);
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

/** How many times the terms of the array `wanted` stand side by side in a row `d` that holds each of them. */
export const timesOfPhrase = (wanted: string): string => `(SELECT count(*) FROM (
    SELECT FROM unnest(${wanted}) WITH ORDINALITY AS t (term, k) CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
    GROUP BY at - k HAVING count(*) = cardinality(${wanted})) AS runs)`;
