import { keyOf, type RowAddress } from "../../../model/rank.js";
import type { Dialect } from "../../engine/dialect.js";
import { column, type Operation } from "../../engine/operation.js";
import type { FoundRow, NumberedSession } from "../../engine/search-dialect.js";
import { SPAN, sessionOf } from "../row-id.js";
import { findRows } from "./found-rows.js";

/** The row that has a number in a ranking. */
export function addressIn(sessions: readonly NumberedSession[] | null, number: number): RowAddress {
  if (sessions === null) return { n: number };
  const { id, no } = sessions[sessionOf(number) - 1] as NumberedSession;
  return { n: no * SPAN + (number % SPAN), sessionId: id };
}

// The numbers of the sessions of messages in ascending order.
function sessionsOf(messages: Float64Array): number[] {
  const sessions: number[] = [];
  for (const number of messages) {
    const sessionNumber = sessionOf(number);
    if (sessionNumber !== sessions.at(-1)) sessions.push(sessionNumber);
  }
  return sessions;
}

// Those of the sessions that have several branches, by their numbers.
function* forkedOf(
  sql: Dialect,
  sessions: readonly NumberedSession[] | null,
  messages: Float64Array,
): Operation<readonly number[]> {
  if (messages.length === 0) return [];
  const numbers = sessionsOf(messages);
  // A join of many sessions would be planned as one with all branches of the store.
  const query =
    sessions === null
      ? `SELECT s.lo FROM ${sql.segmentTable} AS s WHERE (SELECT max(b.branch) FROM assistant_branches b WHERE b.no = s.lo) IS NOT NULL`
      : `SELECT DISTINCT s.lo FROM ${sql.segmentTable} AS s JOIN assistant_branches b ON b.session_id = s.owner`;
  const idOf = (number: number) => (sessions === null ? [] : [sessions[number - 1]?.id]);
  const found = yield* column<number>(
    query,
    JSON.stringify(numbers.map((number) => [0, number, number, ...idOf(number)])),
  );
  return found.map(Number);
}

/** The branches of messages of sessions that have several, by their numbers. A branch that goes on is found by where it began. */
export function* findBranches(
  sql: Dialect,
  sessions: readonly NumberedSession[] | null,
  messages: Float64Array,
  addressOf: (number: number) => RowAddress,
  sessionId: string | null | undefined,
): Operation<ReadonlyMap<number, number>> {
  const forked = new Set(yield* forkedOf(sql, sessions, messages));
  if (forked.size === 0) return new Map();
  const among = Array.from(messages).filter((number) => forked.has(sessionOf(number)));
  const columns = "m.n AS n, m.session_id AS session_id, m.branch AS branch";
  const rows = yield* findRows<BranchOfRow>(sql, among.map(addressOf), columns, sessionId);
  const branches = new Map<number, number>();
  for (const number of among) {
    const row = rows.get(keyOf(addressOf(number)));
    if (row !== undefined) branches.set(number, row.branch);
  }
  return branches;
}

type BranchOfRow = Pick<FoundRow, "n" | "session_id" | "branch">;
