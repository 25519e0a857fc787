import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessagePart } from "../model/message.js";
import { fileOf } from "./chat/model-content.js";
import { keptPart } from "./unread.js";

/** The parts of a UI message of the AI SDK in the form of version 5, in which versions 3 and 4 are read too. Null for none. */
export function partsOfUiMessage(message: JsonObject): unknown[] | null {
  const { parts, content, toolInvocations, reasoning, experimental_attachments: attachments } = message;
  const isOlder = typeof content === "string" || Array.isArray(toolInvocations) || Array.isArray(attachments);
  if (Array.isArray(parts) && (parts.length > 0 || !isOlder)) return parts.map(partOfVersion5);
  if (!isOlder) return null;
  return [
    ...read(reasoning, (text) => (text === "" ? [] : [{ type: "reasoning", text }])),
    ...listOf(toolInvocations).map((toolInvocation) => partOfVersion5({ type: "tool-invocation", toolInvocation })),
    ...read(content, (text) => (text === "" ? [] : [{ type: "text", text }])),
    ...listOf(attachments).map((file) => (isJsonObject(file) ? fileOf(file) : null) ?? keptPart(file)),
    ...(Array.isArray(parts) ? [] : listOf(parts).map(keptPart)),
  ];
}

/** A part that came before version 5 in its form, any other as it is. */
function partOfVersion5(part: unknown): unknown {
  if (!isJsonObject(part)) return part;
  const { type, toolInvocation, source, reasoning, text } = part;
  if (type === "tool-invocation" && isJsonObject(toolInvocation)) return toolPartOf(toolInvocation) ?? keptPart(part);
  if (type === "reasoning" && typeof reasoning === "string" && text === undefined) return { type, text: reasoning };
  if (type === "source" && isJsonObject(source) && typeof source.url === "string")
    return { type: "source-url", sourceId: String(source.id ?? source.url), url: source.url, title: source.title };
  return type === "file" && typeof part.data === "string" ? (fileOf(part) ?? part) : part;
}

function toolPartOf({ state, toolCallId, toolName, args, result }: JsonObject): SessionMessagePart | null {
  if (typeof toolCallId !== "string" || typeof toolName !== "string") return null;
  const call = { type: `tool-${toolName}`, toolCallId, input: args };
  if (state === "result") return { ...call, state: "output-available", output: result ?? null };
  return { ...call, state: state === "partial-call" ? "input-streaming" : "input-available" };
}

// What is no list, but is there, is one thing that is not known.
function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

function read(text: unknown, asParts: (text: string) => SessionMessagePart[]): SessionMessagePart[] {
  return typeof text === "string" ? asParts(text) : listOf(text).map(keptPart);
}
