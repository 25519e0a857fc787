import { invalid } from "../errors.js";
import { yieldIfDue } from "../lib/event-loop.js";
import type { SessionMessage } from "../messages/message.js";
import { estimateMessageTokens } from "../messages/tokens.js";

/**
 * Counts the tokens of messages, for deciding which of them a compaction keeps. It is called with one message at a time:
 * a counter that gives a whole prompt's usage whatever it is called with leaves only `minTailMessages` in the tail.
 */
export type CompactTokenCounter = (messages: SessionMessage[]) => number | Promise<number>;

/** The input of the counter of `compactAfter()`; without prompt and blocks when only messages are counted. */
export interface CountedInput {
  messages: SessionMessage[];
  systemPrompt?: string | undefined;
  contextBlocks?: unknown[] | undefined;
}

/** The counter of `compactAfter()` as a compaction function is given it: takes messages alone as well. */
export type ContextTokenCounter = (input: SessionMessage[] | CountedInput) => number | Promise<number>;

/** Told what is wrong with a counter; the estimate is used instead. */
export type CounterErrorHandler = (error: unknown) => void | Promise<void>;

/** Counts with a user's counter. Gives the estimate when that throws, or gives something that is no finite number from 0. */
export async function countOrEstimate(
  count: () => number | Promise<number>,
  estimate: () => number | Promise<number>,
  onError: CounterErrorHandler = () => {},
): Promise<number> {
  try {
    return checkedCount(await count());
  } catch (error) {
    await onError(error);
    return estimate();
  }
}

/** The sum of what a counter gives for each message; of the estimate, where there is no counter. */
export async function countEach(
  messages: readonly SessionMessage[],
  counter: CompactTokenCounter | undefined,
  onError?: CounterErrorHandler,
): Promise<number> {
  let tokens = 0;
  for (const message of messages) {
    const due = yieldIfDue();
    if (due !== null) await due;
    const estimate = () => estimateMessageTokens(message);
    tokens += counter === undefined ? estimate() : await countOrEstimate(() => counter([message]), estimate, onError);
  }
  return tokens;
}

function checkedCount(tokens: unknown): number {
  if (typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0) return tokens;
  const given = typeof tokens === "number" ? String(tokens) : typeof tokens;
  const message = `A tokenCounter must give a finite number of at least 0; it gave ${given}. The estimate is used instead.`;
  throw invalid(message, { given });
}
