import { StemmaError } from "@stemma/model";

/**
 * A message's row id `n` packs its session's number with the message's number in the session, so that one session is
 * one contiguous range, and the order in it is the row id, never a clock. Where rows name their session, sessions may share
 * a number: then a row is the session's id with the row id.
 */
export const SPAN = 2 ** 28;

/** The highest number of a session. */
export const MAX_NUMBER = 2 ** 53 / SPAN - 1;

/** The row id below every message of session `no`. */
export function floorOf(sessionNumber: number): number {
  if (sessionNumber > MAX_NUMBER) {
    const message = `A store has at most ${MAX_NUMBER} sessions at once; delete some, or start another one.`;
    throw new StemmaError("SESSION_LIMIT", { no: sessionNumber }, message);
  }
  return sessionNumber * SPAN;
}

/** The last row id that session `no` can have. */
export function ceilingOf(sessionNumber: number): number {
  return sessionNumber * SPAN + SPAN - 1;
}

/** The number of the session that row `n` belongs to. */
export function sessionOf(rowId: number): number {
  return Math.floor(rowId / SPAN);
}

/** The row id after `n`, in the same session. */
export function nextPosition(sessionNumber: number, rowId: number): number {
  if (rowId >= ceilingOf(sessionNumber)) {
    const message = `A session numbers at most ${SPAN - 1} messages; continue in a fork.`;
    throw new StemmaError("SESSION_LIMIT", { no: sessionNumber }, message);
  }
  return rowId + 1;
}

/** SQL for the lowest and highest row id of the session whose number is in column `no`. */
export const SESSION_RANGE = (sessionNumber: string) =>
  `${sessionNumber} * ${SPAN} AND ${sessionNumber} * ${SPAN} + ${SPAN - 1}`;
