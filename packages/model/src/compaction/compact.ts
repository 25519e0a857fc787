import { invalid, kindOf } from "../errors.js";
import * as check from "../lib/option-table.js";
import { defineOptions } from "../lib/option-table.js";
import { isSummaryMessage, type SessionMessage } from "../messages/message.js";
import { searchableText } from "../messages/text.js";
import { findSafeCuts, findTailStart, nextSafeCut, previousSafeCut } from "./boundary.js";
import { buildSummaryPromptInPieces, computeSummaryBudgetInPieces } from "./summary.js";
import {
  type CompactTokenCounter,
  type ContextTokenCounter,
  type CounterErrorHandler,
  countEach,
} from "./token-counter.js";
export interface CompactOptions {
  /** Writes the summary: a function that asks a model, or a model of the AI SDK. What it throws, the compaction throws. */
  summarize: SummarizeFunction | SummaryModel;
  /** Messages at the start of the history that are never summarised. Default 3. */
  protectHead?: number | undefined;
  /**
   * Tokens at the end of the history that are not summarised. Default: 20,000, or less, so that half of the threshold of
   * `compactAfter()` is free once prompt, head and summary are counted.
   */
  tailTokenBudget?: number | undefined;
  /** Messages at the end of the history that are never summarised, whatever they cost. Default 2. */
  minTailMessages?: number | undefined;
  /** Measures the tail, one message at a time. Default: the counter of `compactAfter()`, else the built-in estimate. */
  tokenCounter?: CompactTokenCounter | undefined;
}

const OPTIONS = defineOptions<CompactOptions>({
  summarize: check.required(
    check.rule(
      "a function that takes a prompt and resolves to text, or a model of the AI SDK",
      (value) => typeof value === "function" || typeof value?.doGenerate === "function",
    ),
  ),
  protectHead: check.whole(0),
  tailTokenBudget: check.amount("tokens"),
  minTailMessages: check.whole(0),
  tokenCounter: check.callable,
});

/** The state of a session that its compaction function gets. */
export interface CompactContext {
  /** The counter of `compactAfter()`. It takes `{ messages, systemPrompt, contextBlocks }`, or messages alone. */
  tokenCounter?: ContextTokenCounter | undefined;
  /** Call it when a counter of the function's own throws, or gives no finite number from 0: the session reports it once. */
  onCounterError?: CounterErrorHandler | undefined;
  /** Call it when a model was asked and gave no answer: the session then waits for new text, as after a compaction. */
  onEmptyAnswer?: (() => void) | undefined;
  /** The tokens of `compactAfter()`; missing without it. */
  tokenThreshold?: number | undefined;
  /** Tokens of a request without its messages: the prompt, and what the session's counter adds, such as tools. */
  promptTokens?: number | undefined;
}

/** A range of the history that was given, both ends included, and what is to stand for it. */
export interface CompactResult {
  fromMessageId: string;
  toMessageId: string;
  summary: string;
}

/** A function for `onCompaction()`. It gives null when there is nothing to compact. */
export interface CompactFunction {
  (messages: SessionMessage[], context?: CompactContext): Promise<CompactResult | null>;
  /** Messages at the start that it never summarises. */
  readonly protectHead?: number | undefined;
  /** Tokens at the end that it does not summarise, where it was told so: `compactAfter()` must allow more. */
  readonly tailTokenBudget?: number | undefined;
}

/** Tokens that a tail has at most, unless `tailTokenBudget` says otherwise. */
const DEFAULT_TAIL = 20_000;

/**
 * Makes a compact function that summarises the middle of a history: everything after the first `protectHead` messages and
 * before the tail. The tail has up to `tailTokenBudget` tokens and at least `minTailMessages` messages. No tool call is
 * separated from its result. If the history has a summary, the new range starts with it or earlier, and the model updates
 * its text. In a session with `compactAfter()`, the summary that is asked for has at most a quarter of the threshold.
 *
 * The function resolves to null when the middle has only an earlier summary, and when the model's answer is empty. If a
 * counter throws or does not return a finite number of at least 0, the built-in estimate is used.
 * Errors: `INVALID_ARGUMENT` for invalid options; the function fails with it when `summarize` does not resolve to text.
 * @example
 * const summarize = async (prompt: string) => (await generateText({ model, prompt })).text;
 * const session = Session.create(store).onCompaction(createCompactFunction({ summarize })).compactAfter(50_000);
 */
export function createCompactFunction(options: CompactOptions): CompactFunction {
  OPTIONS.assert(options, "createCompactFunction()");
  const { protectHead = 3, minTailMessages = 2, tokenCounter, tailTokenBudget } = options;
  const summarize = summarizerOf(options.summarize);

  const compact = async (messages: SessionMessage[], context: CompactContext = {}): Promise<CompactResult | null> => {
    const { tokenThreshold = Infinity, promptTokens = 0, onCounterError } = context;
    const counter = tokenCounter ?? ofMessages(context.tokenCounter);
    const cuts = findSafeCuts(messages);
    const start = findHeadEnd(messages, cuts, protectHead);
    const summaryTokens = async (news: readonly SessionMessage[], previous = "") =>
      Math.min(await computeSummaryBudgetInPieces(news, previous), Math.max(100, Math.floor(tokenThreshold / 4)));
    // What stays is known before the model is asked, but for the length of its answer.
    const roomForTail = async (): Promise<number> => {
      if (tokenThreshold === Infinity) return DEFAULT_TAIL;
      const head = await countEach(messages.slice(0, start), counter, onCounterError);
      const room = tokenThreshold / 2 - promptTokens - head - (await summaryTokens(messages.slice(start)));
      return Math.min(DEFAULT_TAIL, Math.max(0, room));
    };
    const tail = { tailTokenBudget: tailTokenBudget ?? (await roomForTail()), minTailMessages };
    const tailStart = await findTailStart(messages, { ...tail, tokenCounter: counter, onCounterError });
    const middle = messages.slice(start, findMiddleEnd(cuts, start, tailStart, minTailMessages));
    const first = middle[0];
    const last = middle.at(-1);
    const news = middle.filter((message) => !isSummaryMessage(message));
    if (first === undefined || last === undefined || news.length === 0) return null;

    const summaries = middle.filter(isSummaryMessage).map(searchableText);
    const previous = summaries.length === 0 ? null : summaries.join("\n\n");
    const length = await summaryTokens(news, previous ?? "");
    const answer = await summarize(await buildSummaryPromptInPieces(news, previous, length));
    const summary = answer.trim();
    if (summary !== "") return { fromMessageId: first.id, toMessageId: last.id, summary };
    context.onEmptyAnswer?.();
    return null;
  };
  return Object.assign(compact, { protectHead, tailTokenBudget });
}

// The session's counter is called as it is for a whole request, with nothing but messages in it.
function ofMessages(counter: ContextTokenCounter | undefined): CompactTokenCounter | undefined {
  return counter && ((messages) => counter({ messages, systemPrompt: "", contextBlocks: [] }));
}

// Where the head ends: no tool call is cut off from its result there, and no summary comes before it.
function findHeadEnd(messages: readonly SessionMessage[], cuts: readonly boolean[], protectHead: number): number {
  const summary = messages.findIndex(isSummaryMessage);
  return nextSafeCut(cuts, summary === -1 ? protectHead : Math.min(protectHead, summary));
}

// Where the range that begins at `start` ends, likewise; at `start` where there is none.
function findMiddleEnd(cuts: readonly boolean[], start: number, tailStart: number, minTailMessages: number): number {
  const end = previousSafeCut(cuts, tailStart);
  if (end > start) return end;
  // A long exchange with a tool may reach from the head into the tail: then the tail gives way, down to its least.
  const later = nextSafeCut(cuts, tailStart);
  return later <= cuts.length - 1 - minTailMessages ? later : start;
}

/** Asks a model: resolves to its answer to the prompt. */
export type SummarizeFunction = (prompt: string) => string | PromiseLike<string>;

/** A model of the AI SDK, of version 5 or later, or any object that is called like one. */
export interface SummaryModel {
  doGenerate(options: {
    prompt: { role: "user"; content: { type: "text"; text: string }[] }[];
  }): PromiseLike<{ content: readonly { type: string; text?: string }[] }>;
}

/** The function behind `summarize`. It fails as that does. */
function summarizerOf(summarize: SummarizeFunction | SummaryModel): (prompt: string) => Promise<string> {
  if (typeof summarize === "function") return async (prompt) => checked(await summarize(prompt));
  return async (prompt) => {
    const { content } = await summarize.doGenerate({
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
    });
    // A model's reasoning is a text, too, but not of its answer.
    return content.map((part) => (part.type === "text" ? checked(part.text) : "")).join("");
  };
}

function checked(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw invalid(`summarize must resolve to text; it gave ${kindOf(answer)}.`);
}
