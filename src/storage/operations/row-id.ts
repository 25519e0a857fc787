import { StemmaError } from "../../errors.js";

/**
 * A message's row id `n` packs its session's number with the message's number in the session, so that one session is
 * one contiguous range of the table and order is the row id, never a clock.
 */
export const SPAN = 2 ** 28;
const MAX_SESSIONS = 2 ** 53 / SPAN - 1;

/** The row id below every message of session `no`. */
export function floorOf(no: number): number {
  if (no > MAX_SESSIONS) {
    throw new StemmaError(
      "SESSION_LIMIT",
      { no },
      `A store numbers at most ${MAX_SESSIONS} sessions; start another one.`,
    );
  }
  return no * SPAN;
}

/** The last row id that session `no` can have. */
export function ceilingOf(no: number): number {
  return no * SPAN + SPAN - 1;
}

/** The number of the session that row `n` belongs to. */
export function sessionOf(n: number): number {
  return Math.floor(n / SPAN);
}

/** The row id after `n`, in the same session. */
export function nextPosition(no: number, n: number): number {
  if (n >= ceilingOf(no)) {
    throw new StemmaError(
      "SESSION_LIMIT",
      { no },
      `A session numbers at most ${SPAN - 1} messages; continue in a fork.`,
    );
  }
  return n + 1;
}

/** SQL for the lowest and highest row id of the session whose number is in column `no`. */
export const SESSION_RANGE = (no: string) => `${no} * ${SPAN} AND ${no} * ${SPAN} + ${SPAN - 1}`;
