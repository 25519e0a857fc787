import { StemmaError } from "../errors.js";
import type { SessionMessage } from "../model/message.js";

/**
 * Counts the tokens of messages, for deciding which of them a compaction keeps. It is called with one message at a time:
 * a counter that gives a whole prompt's usage whatever it is called with leaves only `minTailMessages` in the tail.
 */
export type CompactTokenCounter = (messages: SessionMessage[]) => number | Promise<number>;

/** Gives back what a counter gave. Errors: `INVALID_ARGUMENT` unless it is a number that is not negative. */
export function checkedCount(tokens: number): number {
  if (typeof tokens !== "number" || !(tokens >= 0)) {
    throw new StemmaError(
      "INVALID_ARGUMENT",
      { tokens },
      `A tokenCounter must give a number of at least 0; it gave ${String(tokens)}.`,
    );
  }
  return tokens;
}
