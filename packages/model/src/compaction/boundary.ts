import * as check from "../lib/option-table.js";
import { assertArgument, defineOptions } from "../lib/option-table.js";
import type { SessionMessage, SessionMessagePart } from "../messages/message.js";
import { estimateMessageTokens } from "../messages/tokens.js";
import { readToolPart } from "../messages/tool-parts.js";
import { type CompactTokenCounter, type CounterErrorHandler, countEach } from "./token-counter.js";

/**
 * For each place between messages, 0 (before the first) to `messages.length`, whether a history may be cut there: no tool
 * call is then parted from its result, wherever the two stand and whatever their parts are called. A call that waits for
 * its result at the end of the history is kept with the end; one that the conversation went on without parts from nothing.
 * An id that is used again belongs to the newest call. Linear.
 */
export function findSafeCuts(messages: readonly SessionMessage[]): boolean[] {
  // A tie over `from` to `to` forbids the cuts from + 1 … to: a difference array sums them up.
  const change = new Int32Array(messages.length + 2);
  const tie = (from: number, to: number): void => {
    change[from + 1] = (change[from + 1] as number) + 1;
    change[to + 1] = (change[to + 1] as number) - 1;
  };
  const calls = new Map<string, { index: number; answered: boolean }>();
  let lastOther = -1;
  messages.forEach((message, index) => {
    let holdsResult = false;
    for (const part of message.parts) {
      const tool = readToolPart(part);
      if (tool === null) continue;
      holdsResult ||= tool.kind === "result";
      if (tool.toolCallId === null) continue;
      const call = calls.get(tool.toolCallId);
      if (tool.kind === "call") {
        calls.set(tool.toolCallId, { index, answered: false });
      } else if (tool.kind === "both") {
        if (call !== undefined && !call.answered) tie(call.index, index);
        calls.set(tool.toolCallId, { index, answered: true });
      } else if (call !== undefined) {
        tie(call.index, index);
        call.answered = true;
      }
    }
    if (!holdsResult) lastOther = index;
  });
  for (const { index, answered } of calls.values()) if (!answered && index >= lastOther) tie(index, messages.length);
  let ties = 0;
  return Array.from({ length: messages.length + 1 }, (_, cut) => {
    ties += change[cut] as number;
    return ties === 0;
  });
}

/** The first index at or after `index` where a cut parts no tool call from its result; the history's length when there is none. Throws nothing. */
export function alignBoundaryForward(messages: readonly SessionMessage[], index: number): number {
  return nextSafeCut(findSafeCuts(messages), index);
}

/** The last index at or before `index` where a cut parts no tool call from its result; 0 when there is none. Throws nothing. */
export function alignBoundaryBackward(messages: readonly SessionMessage[], index: number): number {
  return previousSafeCut(findSafeCuts(messages), index);
}

/** `alignBoundaryForward` over what `findSafeCuts` gave. */
export function nextSafeCut(cuts: readonly boolean[], index: number): number {
  let cut = Math.max(0, index);
  while (cut < cuts.length - 1 && !cuts[cut]) cut += 1;
  return Math.min(cut, cuts.length - 1);
}

/** `alignBoundaryBackward` over what `findSafeCuts` gave. */
export function previousSafeCut(cuts: readonly boolean[], index: number): number {
  let cut = Math.min(index, cuts.length - 1);
  while (cut > 0 && !cuts[cut]) cut -= 1;
  return Math.max(0, cut);
}

export interface TailOptions {
  /** Tokens that the tail may hold. */
  tailTokenBudget: number;
  /** Messages that the tail holds at least, whatever they cost. */
  minTailMessages: number;
  /** Called with one message at a time, from the newest; the built-in estimate when absent. */
  tokenCounter?: CompactTokenCounter | undefined;
  /** Called when the counter throws, or gives no finite number from 0; the estimate counts for that message. */
  onCounterError?: CounterErrorHandler | undefined;
}

const TAIL = defineOptions<TailOptions>({
  tailTokenBudget: check.required(check.amount("tokens")),
  minTailMessages: check.required(check.whole(0)),
  tokenCounter: check.callable,
  onCounterError: check.callable,
});

/**
 * The index where the tail of a history starts: the longest tail whose tokens fit `tailTokenBudget`, but at least
 * `minTailMessages` messages. It may part a tool call from its result. Never fails because of the counter: where that
 * throws, `onCounterError` is called and the estimate counts. Errors: `INVALID_ARGUMENT`; what `onCounterError` throws.
 */
export async function findTailStart(messages: readonly SessionMessage[], options: TailOptions): Promise<number> {
  TAIL.assert(options, "findTailStart()");
  const { tailTokenBudget, minTailMessages, tokenCounter, onCounterError } = options;
  let start = messages.length;
  let tokens = 0;
  while (start > 0) {
    tokens += await countEach(messages.slice(start - 1, start), tokenCounter, onCounterError);
    if (tokens > tailTokenBudget && messages.length - start >= minTailMessages) break;
    start -= 1;
  }
  return start;
}

/**
 * Finds the index where the tail starts, synchronously and by the built-in estimate: not before `headEnd` and with at least one
 * message in the tail. No tool call is parted from its result. Throws nothing.
 */
export function findTailCutByTokens(
  messages: readonly SessionMessage[],
  headEnd: number,
  tailTokenBudget = 20_000,
  minTailMessages = 2,
): number {
  const first = Math.min(Math.max(0, headEnd), messages.length);
  let start = messages.length;
  let tokens = 0;
  while (start > first) {
    tokens += estimateMessageTokens(messages[start - 1] as SessionMessage);
    if (tokens > tailTokenBudget && messages.length - start >= Math.max(1, minTailMessages)) break;
    start -= 1;
  }
  return Math.max(first, alignBoundaryBackward(messages, start));
}

const MISSING_RESULT = "[This result belongs to an earlier part of the conversation; see its summary.]";

/**
 * A copy of a history in which every tool call has its result, for sending to a model after messages were taken out. A
 * result whose call is not there is left out, and so is a message that held nothing else. A call without a result gets one
 * that says so: in its own part where that holds both (`tool-<name>`, `dynamic-tool`), otherwise in a message after it,
 * whose id is `stub-` and the call's. Parts without a call id stay as they are. Nothing given is changed. Errors: `INVALID_ARGUMENT`.
 */
export function sanitizeToolPairs(messages: readonly SessionMessage[]): SessionMessage[] {
  assertArgument(check.list("messages"), messages, "The history of sanitizeToolPairs()");
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    const tool = readToolPart(part);
    if (tool === null || tool.toolCallId === null) continue;
    if (tool.kind !== "result") calls.add(tool.toolCallId);
    if (tool.kind !== "call") results.add(tool.toolCallId);
  }
  return messages.flatMap((message) => {
    const stubs: SessionMessage[] = [];
    const parts = message.parts.flatMap((part) => {
      const tool = readToolPart(part);
      if (tool === null || tool.toolCallId === null) return [part];
      if (tool.kind === "result") return calls.has(tool.toolCallId) ? [part] : [];
      if (results.has(tool.toolCallId)) return [part];
      if (tool.state !== null || part.type === "dynamic-tool") {
        return [{ ...part, state: "output-available", input: part.input ?? {}, output: MISSING_RESULT }];
      }
      stubs.push(stubFor(part, tool.toolCallId));
      return [part];
    });
    if (parts.length === 0 && message.parts.length > 0) return [];
    const isSame = parts.every((part, index) => part === message.parts[index]) && parts.length === message.parts.length;
    return [isSame ? message : { ...message, parts }, ...stubs];
  });
}

function stubFor(call: SessionMessagePart, toolCallId: string): SessionMessage {
  const id = `stub-${toolCallId}`;
  if (call.type.endsWith("tool_use")) {
    const type = call.type.replace(/use$/, "result");
    return { id, role: "user", parts: [{ type, tool_use_id: toolCallId, content: MISSING_RESULT }] };
  }
  const toolName = call.toolName ?? "unknown";
  return { id, role: "assistant", parts: [{ type: "tool-result", toolCallId, toolName, result: MISSING_RESULT }] };
}
