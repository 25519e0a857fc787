import { invalid } from "../errors.js";
import { assertKnownOptions, type OptionNames } from "../known-options.js";
import { isSummaryMessage, type SessionMessage } from "../model/message.js";
import { searchableText } from "../model/text.js";
import { findSafeCuts, findTailStart, nextSafeCut, previousSafeCut } from "./boundary.js";
import { wholeNumber } from "./limits.js";
import { buildSummaryPrompt, computeSummaryBudget } from "./summary.js";
import type { CompactTokenCounter, ContextTokenCounter, CounterErrorHandler } from "./token-counter.js";

export interface CompactOptions {
  /** Asks a model: resolves to its answer to the prompt. What it throws, the compaction throws. */
  summarize: (prompt: string) => string | PromiseLike<string>;
  /** Messages at the start of the history that are never summarised. Default 3. */
  protectHead?: number | undefined;
  /** Tokens at the end of the history that are not summarised. Default 20,000. */
  tailTokenBudget?: number | undefined;
  /** Messages at the end of the history that are never summarised, whatever they cost. Default 2. */
  minTailMessages?: number | undefined;
  /** Measures the tail, one message at a time. Default: the counter of `compactAfter()`, else the built-in estimate. */
  tokenCounter?: CompactTokenCounter | undefined;
}

const NAMES: OptionNames<CompactOptions> = {
  summarize: true,
  protectHead: true,
  tailTokenBudget: true,
  minTailMessages: true,
  tokenCounter: true,
};

/** What a session hands to its compaction function. */
export interface CompactContext {
  /** The counter of `compactAfter()`. It takes `{ messages, systemPrompt, contextBlocks }`, or messages alone. */
  tokenCounter?: ContextTokenCounter | undefined;
  /** Call it when a counter of the function's own throws, or gives no finite number from 0: the session reports it once. */
  onCounterError?: CounterErrorHandler | undefined;
}

/** A range of the history that was given, both ends included, and what is to stand for it. */
export interface CompactResult {
  fromMessageId: string;
  toMessageId: string;
  summary: string;
}

/** What `onCompaction()` takes. Null when there is nothing to compact. */
export type CompactFunction = (messages: SessionMessage[], context?: CompactContext) => Promise<CompactResult | null>;

/**
 * Makes a compact function that summarises the middle of a history: everything after the first `protectHead` messages and
 * before the tail. The tail has up to `tailTokenBudget` tokens and at least `minTailMessages` messages. No tool call is
 * separated from its result. If the history has a summary, the new range starts with it or earlier, and the model updates
 * its text.
 *
 * The function resolves to null when the middle has only an earlier summary, and when the model's answer is empty. If a
 * counter throws or does not return a finite number of at least 0, the built-in estimate is used.
 * Errors: `INVALID_ARGUMENT` for invalid options; the function fails with it when `summarize` does not resolve to text.
 */
export function createCompactFunction(options: CompactOptions): CompactFunction {
  assertKnownOptions(options, "createCompactFunction()", NAMES);
  const { summarize, tokenCounter } = options;
  if (typeof summarize !== "function")
    throw invalid("summarize must be a function that takes a prompt and resolves to text.");
  if (tokenCounter !== undefined && typeof tokenCounter !== "function") {
    throw invalid("tokenCounter must be a function that takes messages and gives a number.");
  }
  const protectHead = wholeNumber("protectHead", options.protectHead ?? 3);
  const minTailMessages = wholeNumber("minTailMessages", options.minTailMessages ?? 2);
  const tailTokenBudget = options.tailTokenBudget ?? 20_000;
  if (typeof tailTokenBudget !== "number" || !(tailTokenBudget >= 0)) {
    throw invalid(`tailTokenBudget must be a number of at least 0; got ${String(tailTokenBudget)}.`);
  }

  return async (messages, context) => {
    const counter = tokenCounter ?? context?.tokenCounter;
    const tail = { tailTokenBudget, minTailMessages, tokenCounter: counter, onCounterError: context?.onCounterError };
    const tailStart = await findTailStart(messages, tail);
    const middle = findMiddle(messages, { protectHead, minTailMessages, tailStart });
    const first = middle[0];
    const last = middle.at(-1);
    const news = middle.filter((message) => !isSummaryMessage(message));
    if (first === undefined || last === undefined || news.length === 0) return null;

    const summaries = middle.filter(isSummaryMessage).map(searchableText);
    const previous = summaries.length === 0 ? null : summaries.join("\n\n");
    const answer = await summarize(buildSummaryPrompt(news, previous, computeSummaryBudget(news, previous ?? "")));
    if (typeof answer !== "string") throw invalid(`summarize must resolve to text; it gave ${typeof answer}.`);
    const summary = answer.trim();
    return summary === "" ? null : { fromMessageId: first.id, toMessageId: last.id, summary };
  };
}

// The messages between head and tail, with both boundaries where no tool call is cut off from its result.
function findMiddle(
  messages: readonly SessionMessage[],
  { protectHead, minTailMessages, tailStart }: { protectHead: number; minTailMessages: number; tailStart: number },
): SessionMessage[] {
  const cuts = findSafeCuts(messages);
  const summary = messages.findIndex(isSummaryMessage);
  const start = nextSafeCut(cuts, summary === -1 ? protectHead : Math.min(protectHead, summary));
  const end = previousSafeCut(cuts, tailStart);
  if (end > start) return messages.slice(start, end);
  // A long exchange with a tool may reach from the head into the tail: then the tail gives way, down to its least.
  const later = nextSafeCut(cuts, tailStart);
  return later <= messages.length - minTailMessages ? messages.slice(start, later) : [];
}
