import type { SessionMessage, SessionMessagePart } from "./message.js";

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

/** What a result gives to its call. */
export interface SettledFields {
  readonly state: string;
  readonly output?: unknown;
  readonly errorText?: string;
}

/** True for a message that was cut off, as its metadata says. */
export function isInterrupted({ metadata }: SessionMessage): boolean {
  return typeof (metadata as { interrupted?: unknown } | null | undefined)?.interrupted === "string";
}

/** What stands as the result of a call that was cut off. */
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
