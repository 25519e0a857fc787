import { scoreIn } from "../../model/bm25.js";
import { messagesOf, nearMessages } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type { Operation, SqlValue } from "../engine/operation.js";
import type { ChosenSessions, FoundMatches, FoundRow, RowRange } from "../engine/search-dialect.js";
import { MOST_NAMED } from "../operations/search/search-scope.js";
import { arrayLiteral } from "./array-literal.js";
import { type FoundRows, numberSessions } from "./numbered-rows.js";
import { isStorable } from "./storable.js";

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
