import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessagePart } from "../model/message.js";
import { fileOf } from "./chat/model-content.js";

/** The parts of a UI message of the AI SDK in the form of version 5, in which versions 3 and 4 are read too. Null for none. */
export function partsOfUiMessage(message: JsonObject): unknown[] | null {
  const { parts, content, toolInvocations, reasoning, experimental_attachments: attachments } = message;
  const hasOlder = typeof content === "string" || Array.isArray(toolInvocations) || Array.isArray(attachments);
  if (Array.isArray(parts) && (parts.length > 0 || !hasOlder)) return parts.map(partOfVersion5);
  if (!hasOlder) return null;
  return [
    ...(typeof reasoning === "string" && reasoning !== "" ? [{ type: "reasoning", text: reasoning }] : []),
    ...listOf(toolInvocations).map((toolInvocation) => partOfVersion5({ type: "tool-invocation", toolInvocation })),
    ...(typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : []),
    ...listOf(attachments).map((attachment) => (isJsonObject(attachment) ? fileOf(attachment) : null) ?? attachment),
  ];
}

/** A part that came before version 5 in its form, any other as it is. */
function partOfVersion5(part: unknown): unknown {
  if (!isJsonObject(part)) return part;
  const { type, toolInvocation, source, reasoning, text } = part;
  if (type === "tool-invocation" && isJsonObject(toolInvocation)) return toolPartOf(toolInvocation) ?? part;
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

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
