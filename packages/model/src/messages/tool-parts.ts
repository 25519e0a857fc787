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
