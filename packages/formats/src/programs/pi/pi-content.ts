import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, readToolPart } from "@stemma/model";
import { keep, type OriginEntry, without } from "../../origin.js";
import { textOfOutput } from "../openai/openai-content.js";

type Part = SessionMessagePart & JsonObject;

/** The content of a pi message as AI SDK parts. What a block holds beside the part's fields is kept as provider metadata. */
export function partsOfContent(content: unknown): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(partOfBlock) : [{ type: "data-pi", data: content }];
}

/** AI SDK parts as content of a pi message. Sources, steps and data parts that are not pi's own have no place in it. */
export function contentOfParts(parts: readonly SessionMessagePart[]): JsonObject[] {
  return parts.map((part) => blockOfPart(part as Part)).filter((block) => block !== null);
}

/** The fields that a tool part gets from a result. One text is the output itself; anything else stays as it is. */
export function outputFields({ content, isError }: JsonObject): JsonObject {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  const [only] = blocks;
  const text = blocks.length === 1 && isText(only) ? only.text : null;
  if (isError !== true) return { state: "output-available", output: text ?? content ?? null };
  return {
    state: "output-error",
    errorText: text ?? blocks.map((block) => (isText(block) ? block.text : "")).join("\n"),
  };
}

/** A result's content from the tool part that holds it. */
export function contentOfOutput(part: SessionMessagePart | undefined): unknown {
  const tool = part === undefined ? null : readToolPart(part);
  if (tool === null) return [];
  const { output, errorText } = tool;
  if (Array.isArray(output) && output.every((block) => isJsonObject(block) && typeof block.type === "string"))
    return output;
  return [{ type: "text", text: errorText ?? textOfOutput(output) }];
}

function isText(block: unknown): block is { text: string } {
  return (
    isJsonObject(block) && block.type === "text" && typeof block.text === "string" && Object.keys(block).length === 2
  );
}

function partOfBlock(block: unknown): Part {
  const raw: Part = { type: "data-pi", data: block };
  if (!isJsonObject(block)) return raw;
  const { type, text, thinking, data, mimeType, id, name } = block;
  if (type === "text" && typeof text === "string") return withRest({ type: "text", text }, block, "text");
  if (type === "thinking" && typeof thinking === "string") {
    return withRest({ type: "reasoning", text: thinking }, block, "thinking");
  }
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    return withRest(
      { type: "file", mediaType: mimeType, url: `data:${mimeType};base64,${data}` },
      block,
      "data",
      "mimeType",
    );
  }
  if (type === "toolCall" && typeof id === "string" && typeof name === "string") {
    const part: Part = {
      type: "dynamic-tool",
      toolName: name,
      toolCallId: id,
      state: "input-available",
      input: block.arguments,
    };
    return withRest(part, block, "id", "name", "arguments");
  }
  return raw;
}

function withRest(part: Part, block: JsonObject, ...read: string[]): Part {
  const rest = without(block, "type", ...read);
  if (Object.keys(rest).length === 0) return part;
  return { ...part, [metadataField(part)]: { pi: rest } };
}

function metadataField(part: SessionMessagePart): "callProviderMetadata" | "providerMetadata" {
  return part.type === "dynamic-tool" ? "callProviderMetadata" : "providerMetadata";
}

function blockOfPart(part: Part): JsonObject | null {
  const metadata = part[metadataField(part)];
  const rest = isJsonObject(metadata) && isJsonObject(metadata.pi) ? metadata.pi : {};
  const tool = readToolPart(part);
  if (tool !== null)
    return { type: "toolCall", id: tool.toolCallId, name: tool.toolName, arguments: tool.input, ...rest };
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...rest };
    case "reasoning":
      return { type: "thinking", thinking: part.text, ...rest };
    case "data-pi":
      return isJsonObject(part.data) ? part.data : null;
    case "file":
      return imageBlock(part, rest);
    default:
      return null;
  }
}

function imageBlock({ url, mediaType, filename }: Part, rest: JsonObject): JsonObject {
  const data = typeof url === "string" ? /^data:([^;,]*);base64,(.*)$/s.exec(url) : null;
  if (data?.[1]?.startsWith("image/")) return { type: "image", data: data[2], mimeType: data[1], ...rest };
  // pi's messages hold texts and images; of another file they can only say that it was there.
  return { type: "text", text: `[file ${filename ?? ""} ${mediaType ?? ""}]`.replace(/ +/g, " ") };
}

/** A pi entry read as a message; null when it is none (a change of model, a label, …). */
export function readEntry(entry: JsonObject): Pick<SessionMessage, "role" | "parts" | "createdAt"> | null {
  const read = readParts(entry);
  if (read === null) return null;
  const time = isJsonObject(entry.message) ? entry.message.timestamp : undefined;
  const date = new Date((typeof time === "number" ? time : entry.timestamp) as number | string);
  return Number.isNaN(date.getTime()) ? read : { ...read, createdAt: date.toISOString() };
}

export function keepEntry(n: number, entry: JsonObject, parts: readonly SessionMessagePart[]): OriginEntry {
  if (!isJsonObject(entry.message)) return { n, whole: entry };
  const rest = { ...entry, message: without(entry.message, "content") };
  return { n, ...keep(entry, rest, (stripped) => rebuildEntry(stripped, contentOfParts(parts))) };
}

/** An entry from what was kept of it and the content that the message's parts hold. */
export function rebuildEntry(rest: JsonObject, content: unknown): JsonObject {
  return { ...rest, message: { ...(isJsonObject(rest.message) ? rest.message : {}), content } };
}

/** True for an entry with the result of a tool call. */
export function isToolResult(entry: JsonObject): entry is JsonObject & { message: JsonObject } {
  return entry.type === "message" && isJsonObject(entry.message) && entry.message.role === "toolResult";
}

// What a user or an extension put into the conversation reaches pi's model as a user's message, and so it does here.
function readParts(entry: JsonObject): { role: string; parts: SessionMessagePart[] } | null {
  if (entry.type === "custom_message") return { role: "user", parts: partsOfContent(entry.content) };
  if (entry.type === "branch_summary") return summaryOf(entry);
  const { message } = entry;
  if (entry.type !== "message" || !isJsonObject(message)) return null;
  switch (message.role) {
    case "user":
    case "assistant":
      return { role: message.role, parts: partsOfContent(message.content) };
    case "toolResult":
      // One whose call is not there. Kept, but not as something that a model is told.
      return { role: "assistant", parts: [hidden(message)] };
    case "bashExecution":
      return { role: "user", parts: [message.excludeFromContext === true ? hidden(message) : commandText(message)] };
    default:
      return message.content === undefined
        ? (summaryOf(message) ?? { role: "user", parts: [hidden(message)] })
        : { role: "user", parts: partsOfContent(message.content) };
  }
}

function summaryOf({ summary }: JsonObject): { role: string; parts: SessionMessagePart[] } | null {
  return typeof summary === "string" ? { role: "user", parts: partsOfContent(summary) } : null;
}

function hidden(data: JsonObject): SessionMessagePart {
  return { type: "data-pi", data } as SessionMessagePart;
}

function commandText({ command, output, exitCode, cancelled }: JsonObject): SessionMessagePart {
  const end =
    cancelled === true ? "\n(cancelled)" : exitCode === 0 || exitCode === undefined ? "" : `\n(exit code ${exitCode})`;
  return { type: "text", text: `$ ${String(command)}\n${String(output ?? "")}${end}` };
}
