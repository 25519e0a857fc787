import { isJsonObject } from "../lib/json.js";
import type { SessionMessage, SessionMessagePart } from "./message.js";

/** A tool call, its result, or both, whatever the part that holds it is called. */
export interface ToolPart {
  /** A part is a call without its result, a result whose call stands elsewhere, or both. */
  readonly kind: "call" | "result" | "both";
  /** Null when the part has none; such a part cannot be paired. */
  readonly toolCallId: string | null;
  /** Null when the part does not say (`tool_result`). */
  readonly toolName: string | null;
  /** `undefined` when the part has none. */
  readonly input: unknown;
  /** `undefined` when the part has none. */
  readonly output: unknown;
  readonly errorText: string | null;
  readonly state: string | null;
}

/**
 * Reads a part as a tool part; null for any other part. Known are the AI SDK's UI parts (`tool-<name>`, `dynamic-tool`),
 * its message content (`tool-call`, `tool-result`, `tool-error`; also with `args` and `result`) and content blocks
 * (`tool_use`, `tool_result`, and their `server_` and `mcp_` kinds).
 */
export function readToolPart(part: SessionMessagePart): ToolPart | null {
  const type: unknown = part?.type;
  // Rows that another program wrote may hold anything.
  if (typeof type !== "string") return null;
  if (type.startsWith("tool-")) {
    // Only UI parts have a state: without one, these types are content, not tools named "call" or "result".
    if (typeof part.state === "string") return uiPart(part, type.slice("tool-".length));
    if (type === "tool-call" || type === "tool-result" || type === "tool-error") return contentPart(part);
    if (type === "tool-approval-request" || type === "tool-approval-response") return null;
    return uiPart(part, type.slice("tool-".length));
  }
  if (type === "dynamic-tool") return uiPart(part, textOf(part.toolName));
  if (type.endsWith("tool_use") || type.endsWith("tool_result")) return blockPart(part);
  return null;
}

/** A copy of a tool part with another output, in the field that held the old one. */
export function withToolOutput<P extends SessionMessagePart>(part: P, output: unknown): P {
  if (part.type.endsWith("tool_result")) return { ...part, content: output };
  return "result" in part && !("output" in part) ? { ...part, result: output } : { ...part, output };
}

function uiPart(part: SessionMessagePart, toolName: string | null): ToolPart {
  const { input, output } = part;
  const state = textOf(part.state);
  const errorText = textOf(part.errorText);
  const answered = state?.startsWith("output-") || output !== undefined || errorText !== null;
  return {
    kind: answered ? "both" : "call",
    toolCallId: textOf(part.toolCallId),
    toolName,
    input,
    output,
    errorText,
    state,
  };
}

function contentPart(part: SessionMessagePart): ToolPart {
  const { args, result, error } = part as { args?: unknown; result?: unknown; error?: unknown };
  const isCall = part.type === "tool-call";
  return {
    kind: isCall ? "call" : "result",
    toolCallId: textOf(part.toolCallId),
    toolName: textOf(part.toolName),
    input: part.input ?? (isCall ? args : undefined),
    output: isCall ? undefined : (part.output ?? result ?? error),
    errorText: textOf(part.errorText),
    state: null,
  };
}

function blockPart(part: SessionMessagePart): ToolPart {
  const { id, tool_use_id, name, content } = part as Record<"id" | "tool_use_id" | "name" | "content", unknown> &
    SessionMessagePart;
  const isCall = part.type.endsWith("tool_use");
  return {
    kind: isCall ? "call" : "result",
    toolCallId: textOf(isCall ? id : tool_use_id),
    toolName: textOf(name),
    input: isCall ? part.input : undefined,
    output: isCall ? undefined : content,
    errorText: null,
    state: null,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A part that holds a tool call, with the fields that the AI SDK gives it. */
export interface ToolCallPart extends SessionMessagePart {
  toolCallId: string;
  state: string;
  rawInput?: unknown;
  providerExecuted?: boolean;
  preliminary?: boolean;
}

/** True for the AI SDK's static (`tool-<name>`) and dynamic tool calls. */
export function isToolPart(part: SessionMessagePart): part is ToolCallPart {
  const named = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return named && typeof part.toolCallId === "string" && typeof part.state === "string";
}

export function toolNameOf(part: ToolCallPart): string {
  return part.type === "dynamic-tool" ? (part.toolName ?? "") : part.type.slice("tool-".length);
}

/** True when the call has its result: an output, an error, or a refusal. */
export function isSettled(part: ToolCallPart): boolean {
  if (part.state === "output-available") return part.preliminary !== true;
  return part.state === "output-error" || part.state === "output-denied";
}

export interface SettledFields {
  readonly state: string;
  readonly output?: unknown;
  readonly errorText?: string;
}

/** True for a message that was cut off, as its metadata says. */
export function isInterrupted({ metadata }: SessionMessage): boolean {
  return typeof (metadata as { interrupted?: unknown } | null | undefined)?.interrupted === "string";
}

/** Stands as the result of a call that was cut off. */
export const INTERRUPTED =
  "Interrupted: this call was cut off before its result was there. It may have taken effect, in part or in full.";

/** The message with every call that has no result marked as interrupted; the same object when there is none. */
export function settleToolCalls(message: SessionMessage): SessionMessage {
  if (!message.parts.some((part) => isToolPart(part) && !isSettled(part))) return message;
  const parts = message.parts.map((part) => (isToolPart(part) && !isSettled(part) ? interrupted(part) : part));
  return { ...message, parts };
}

function interrupted(part: ToolCallPart): SessionMessagePart {
  const { output: _output, preliminary: _preliminary, ...call } = part;
  // A call whose input never came whole has none.
  const input = part.state === "input-streaming" ? {} : (part.input ?? {});
  const { approval: _approval, ...rest } = call as ToolCallPart & { approval?: unknown };
  return { ...rest, state: "output-error", input, errorText: INTERRUPTED } as SessionMessagePart;
}

/** When a model made a call, and when its result was there: ISO times. */
interface ToolTime {
  readonly calledAt?: string;
  readonly answeredAt?: string;
}

/** The field of a message's metadata that holds a `ToolTime` for each call, by the call's id. No model is shown it. */
const FIELD = "toolTimes";

/** Notes when the calls of a message are made and answered. */
export class ToolClock {
  readonly #times = new Map<string, ToolTime>();
  readonly #calls = new Set<string>();

  /** A model made a call. Of two calls with one id, neither has a time. */
  called(toolCallId: string): void {
    const isFirst = !this.#calls.has(toolCallId);
    this.#calls.add(toolCallId);
    this.#times.set(toolCallId, isFirst ? { calledAt: now() } : {});
  }

  /** The result of a call is there. */
  answered(toolCallId: string): void {
    this.#times.set(toolCallId, { ...this.#times.get(toolCallId), answeredAt: now() });
  }

  /** The message with the times of its calls. The same object when none is known. */
  on<M extends { parts: readonly object[]; metadata?: unknown }>(message: M): M {
    const before = toolTimesOf(message);
    const times = new Map<string, ToolTime>();
    for (const part of (message as unknown as SessionMessage).parts) {
      if (!isToolPart(part)) continue;
      const time = { ...before[part.toolCallId], ...this.#times.get(part.toolCallId) };
      if (Object.keys(time).length > 0) times.set(part.toolCallId, time);
    }
    if (times.size === 0) return message;
    const fields = isJsonObject(message.metadata) ? message.metadata : {};
    return { ...message, metadata: { ...fields, [FIELD]: Object.fromEntries(times) } };
  }
}

/** A message in which calls have got their results, with the time of that. */
export function answeredNow<M extends { parts: readonly object[]; metadata?: unknown }>(before: M, after: M): M {
  const settled = (message: M) =>
    (message as unknown as SessionMessage).parts.filter((part) => isToolPart(part) && isSettled(part));
  const known = new Set(settled(before).map(({ toolCallId }) => toolCallId));
  const clock = new ToolClock();
  for (const { toolCallId } of settled(after)) if (!known.has(toolCallId)) clock.answered(toolCallId as string);
  return clock.on(after);
}

/** A message as a client knows it: without the times. The same object where it holds none. */
export function withoutToolTimes<M extends { metadata?: unknown }>(message: M): M {
  if (!isJsonObject(message.metadata) || !Object.hasOwn(message.metadata, FIELD)) return message;
  const { [FIELD]: _times, ...fields } = message.metadata;
  const { metadata: _metadata, ...rest } = message;
  return (Object.keys(fields).length > 0 ? { ...rest, metadata: fields } : rest) as M;
}

/** The times that a message holds of its calls, by their ids. */
export function toolTimesOf({ metadata }: { readonly metadata?: unknown }): Readonly<Record<string, ToolTime>> {
  const times = isJsonObject(metadata) ? metadata[FIELD] : undefined;
  return isJsonObject(times) ? (times as Record<string, ToolTime>) : {};
}

/** How long a call took, from when it was made until its result was there, in milliseconds; null where that is not known. */
export function toolMilliseconds(message: { readonly metadata?: unknown }, toolCallId: unknown): number | null {
  const times = toolTimesOf(message);
  if (typeof toolCallId !== "string" || !Object.hasOwn(times, toolCallId)) return null;
  const { calledAt, answeredAt } = isJsonObject(times[toolCallId]) ? (times[toolCallId] as ToolTime) : {};
  const time = Date.parse(String(answeredAt)) - Date.parse(String(calledAt));
  return time >= 0 ? time : null;
}

/** A duration as people read it, such as `340 ms`, `1.2 s` or `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const now = () => new Date().toISOString();
