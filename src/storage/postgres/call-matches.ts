import { scoreIn } from "../../model/bm25.js";
import { messagesOf, nearMessages } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type { Operation, SqlValue } from "../engine/operation.js";
import type { FoundMatches, FoundRow, RowRange } from "../engine/search-dialect.js";
import { arrayLiteral } from "./array-literal.js";
import { type FoundRows, numberSessions } from "./numbered-rows.js";

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

function callOf(range: RowRange): [call: string, own: SqlValue[]] {
  const { sessionId = null, several } = range ?? {};
  if (sessionId !== null) return ["assistant_matches_in(?, ", [sessionId]];
  return several === undefined
    ? ["assistant_matches(", []]
    : ["assistant_matches_among(?::text::text[], ", [arrayLiteral(several.ids)]];
}

type FoundTuple = readonly [numbers: number[], sessions: string[]];

const rowsOf = (found: CalledMatches["scored" | "others"][number] | undefined): FoundRows => ({
  numbers: found?.[0] ?? [],
  sessions: found?.[1] ?? [],
});

/** A query whose text is sent again and again. */
export function* frequentQuery<R>(sql: string, ...values: SqlValue[]): Operation<R[]> {
  return (yield { sql, values, isFrequent: true }) as R[];
}

/** See `SearchDialect.matches`: by the functions of `search-function.ts`. */
export function* callMatches(
  sequences: TermSequences,
  range: RowRange,
  limit: number,
  shown: number,
): Operation<FoundMatches> {
  const [call, own] = callOf(range);
  const [row, ...rows] = yield* frequentQuery<FoundRow & { matches: string }>(
    `SELECT * FROM ${call}?, ?, ?, ?, ?, ?)`,
    ...own,
    range?.lo ?? null,
    range?.hi ?? null,
    arrayLiteral(sequences.map(arrayLiteral)),
    // The only word, which takes less.
    sequences.flat().length === 1 ? (sequences[0]?.[0] ?? null) : null,
    limit,
    shown,
  );
  const nothing = { total: 0, mean: 1, documents: sequences.map(() => 0), scored: [], others: [], branches: null };
  const found: CalledMatches = row === undefined ? nothing : JSON.parse(row.matches);
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
