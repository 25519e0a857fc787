import { isSettled, isToolPart, type SessionMessagePart, type ToolCallPart } from "@stemma/model";
import type { UIMessage } from "ai";
import type { Part, PromptMessage } from "./sdk-types.js";

// Version 7 of the AI SDK gives files as `{ type, … }`, and has further kinds of parts.
interface PromptPart {
  readonly type: string;
  readonly text?: string;
  readonly mediaType?: string;
  readonly data?: unknown;
  readonly filename?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly output?: ResultOutput;
  readonly providerExecuted?: boolean;
  readonly providerOptions?: object;
}

interface ResultOutput {
  readonly type: string;
  readonly value?: unknown;
  readonly reason?: string;
}

/** The end of a call, as a prompt tells it. */
export interface PromptResult {
  readonly input: unknown;
  readonly output: ResultOutput;
}

const partsOf = ({ content }: PromptMessage): readonly PromptPart[] =>
  typeof content === "string" ? [] : (content as readonly unknown[] as readonly PromptPart[]);

/** A user's message of a prompt as it is stored, under a new id. */
export function questionOf(message: PromptMessage): UIMessage {
  return { id: crypto.randomUUID(), role: "user", parts: partsOf(message).flatMap(writtenPart) };
}

/** The parts of an answer that a prompt holds: each of its messages is a step. */
export function answerParts(messages: readonly PromptMessage[]): Part[] {
  const steps = messages.filter(({ role }) => role === "assistant");
  const parts = steps.flatMap((step) => [{ type: "step-start" } as Part, ...partsOf(step).flatMap(writtenPart)]);
  return withResults(parts, resultsOf(messages));
}

/** The results that a prompt holds, by the ids of their calls. */
export function resultsOf(messages: readonly PromptMessage[]): Map<string, PromptResult> {
  const all = messages.flatMap(partsOf);
  const inputs = new Map(
    all.flatMap(({ type, toolCallId, input }) => (type === "tool-call" ? [[toolCallId, input]] : [])),
  );
  const results = all.filter(({ type }) => type === "tool-result");
  return new Map(
    results.map(({ toolCallId = "", output = { type: "json" } }) => [
      toolCallId,
      { input: inputs.get(toolCallId), output },
    ]),
  );
}

/** The parts, in which calls without a result have those that are given; the same array where none is new. */
export function withResults<P extends { readonly type: string }>(
  parts: readonly P[],
  results: ReadonlyMap<string, PromptResult>,
): P[] {
  const made = parts.map((part) => {
    const call = part as unknown as SessionMessagePart;
    if (!isToolPart(call)) return part;
    const result = results.get(call.toolCallId);
    return result === undefined || !isOpen(call) ? part : (answered(call, result) as unknown as P);
  });
  return made.some((part, index) => part !== parts[index]) ? made : (parts as P[]);
}

// A call whose input could not be read may have been mended since.
function isOpen(call: ToolCallPart): boolean {
  return !isSettled(call) || (call.state === "output-error" && call.input === undefined);
}

function answered(call: ToolCallPart, { input, output }: PromptResult): object {
  const { rawInput: _raw, errorText: _error, ...rest } = call;
  const made = { ...rest, input: input ?? call.input ?? {} };
  const text = typeof output.value === "string" ? output.value : JSON.stringify(output.value ?? null);
  switch (output.type) {
    case "error-text":
    case "error-json":
      return { ...made, state: "output-error", errorText: text };
    case "execution-denied": {
      const approval = { id: `denied-${call.toolCallId}`, approved: false, reason: output.reason };
      return { ...made, state: "output-denied", approval };
    }
    case "content":
      return { ...made, state: "output-available", output: { type: "content", value: output.value } };
    default:
      return { ...made, state: "output-available", output: output.value ?? null };
  }
}

/** True for an output that a tool made for the model, of several texts and files. */
export function isContentOutput(output: unknown): boolean {
  const { type, value } = (output ?? {}) as Partial<ResultOutput>;
  return type === "content" && Array.isArray(value);
}

function writtenPart(part: PromptPart): Part[] {
  const given = part.providerOptions === undefined ? {} : { providerMetadata: part.providerOptions };
  const { type, text, mediaType, filename, toolCallId, toolName, input, providerExecuted } = part;
  if (type === "text" || type === "reasoning") {
    return text === "" && part.providerOptions === undefined ? [] : [{ type, text, ...given } as Part];
  }
  if (type === "file" || type === "reasoning-file") {
    const url = urlOf(part.data, mediaType);
    return url === null
      ? []
      : [{ type, mediaType, url, ...(filename === undefined ? {} : { filename }), ...given } as Part];
  }
  if (type !== "tool-call") return [];
  const executed = providerExecuted === true ? { providerExecuted } : {};
  const metadata = part.providerOptions === undefined ? {} : { callProviderMetadata: part.providerOptions };
  return [{ type: `tool-${toolName}`, toolCallId, state: "input-available", input, ...executed, ...metadata } as Part];
}

/** A file's data as a URL; null for what no URL can hold. */
export function urlOf(data: unknown, mediaType = "application/octet-stream"): string | null {
  if (data instanceof URL) return data.href;
  if (typeof data === "string") return /^(data|https?):/.test(data) ? data : `data:${mediaType};base64,${data}`;
  if (data instanceof Uint8Array) return `data:${mediaType};base64,${base64(data)}`;
  const tagged = (data ?? {}) as { type?: unknown; data?: unknown; url?: unknown; text?: unknown };
  if (tagged.type === "data") return urlOf(tagged.data, mediaType);
  if (tagged.type === "url") return String(tagged.url);
  return tagged.type === "text" ? `data:${mediaType},${encodeURIComponent(String(tagged.text))}` : null;
}

const CHUNK = 0x8000;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
