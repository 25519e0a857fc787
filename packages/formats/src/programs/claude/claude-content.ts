import type { SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject } from "@stemma/model";
import { without } from "../../origin.js";

type Part = SessionMessagePart & JsonObject;

/** The type of a part that holds a content block as it stood in the file: no model is shown it. */
const RAW = "data-claude";

/** The parts of content blocks of Anthropic's messages; what a block has beside the part's fields becomes its metadata. */
export function partsOfBlocks(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: Part[] = [];
  for (const block of blocksOf(content)) {
    if (isJsonObject(block) && answerIn(parts, block)) continue;
    parts.push(partOfBlock(block));
  }
  return parts;
}

/** A block that makes a call, with this id where it has none of its own: it would share one with other calls of its tool. */
export function withCallId(block: unknown, id: string): unknown {
  const isCall = isJsonObject(block) && typeof block.type === "string" && block.type.endsWith("tool_use");
  return isCall && typeof block.id !== "string" ? { ...block, id } : block;
}

/** The parts of a message of Anthropic's; one without content is kept as it is. */
export function partsOfMessage(message: JsonObject): Part[] {
  return message.content === undefined ? [rawPart(message)] : partsOfBlocks(message.content);
}

export function countUnknown(parts: readonly SessionMessagePart[]): number {
  return parts.filter(({ type }) => type === RAW).length;
}

export function isResultBlock(block: unknown): block is JsonObject {
  return isJsonObject(block) && typeof block.type === "string" && block.type.endsWith("tool_result");
}

/** A part for a block that has no other place. */
export function rawPart(block: unknown): Part {
  return { type: RAW, data: block };
}

/** The fields that a tool part gets from the block with its result. One text is the output itself; anything else stays as it is. */
export function outputOfBlock({ content, is_error }: JsonObject): JsonObject {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  const texts = blocks.map((block) => (isJsonObject(block) && block.type === "text" ? block.text : null));
  const [only] = texts;
  const text = typeof content === "string" ? content : blocks.length === 1 && typeof only === "string" ? only : null;
  if (is_error !== true) return { state: "output-available", output: text ?? content ?? null };
  return { state: "output-error", errorText: text ?? texts.filter((each) => each !== null).join("\n") };
}

/** A message's content as a list of blocks; what is no content is one that is not known. */
function blocksOf(content: unknown): unknown[] {
  return Array.isArray(content) ? content : content === undefined || content === null ? [] : [content];
}

// Exports, and tools that the provider runs, have call and result in one message; there, a call may have no id.
function answerIn(parts: Part[], block: JsonObject): boolean {
  if (!isResultBlock(block)) return false;
  const id = block.tool_use_id;
  const index = parts.findLastIndex(
    (part) =>
      part.type === "dynamic-tool" &&
      part.state === "input-available" &&
      (typeof id === "string" ? part.toolCallId === id : part.toolName === block.name || block.name === undefined),
  );
  const part = parts[index];
  if (part === undefined) return false;
  parts[index] = { ...part, ...outputOfBlock(block) };
  return true;
}

function partOfBlock(block: unknown): Part {
  if (typeof block === "string") return { type: "text", text: block };
  if (!isJsonObject(block)) return rawPart(block);
  const { type, text, thinking, data, source } = block;
  if (type === "text" && typeof text === "string") return withRest({ type: "text", text }, block, "text");
  if (type === "thinking" && typeof thinking === "string")
    return withRest({ type: "reasoning", text: thinking }, block, "thinking");
  if (type === "redacted_thinking" && typeof data === "string")
    return { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: data } } };
  if ((type === "image" || type === "document") && isJsonObject(source)) return fileOf(block, source);
  if (typeof type === "string" && type.endsWith("tool_use") && typeof block.name === "string") return callOf(block);
  return rawPart(block);
}

function fileOf(block: JsonObject, source: JsonObject): Part {
  const { type, media_type: mediaType, data, url } = source;
  const filename = typeof block.title === "string" ? { filename: block.title } : {};
  if (type === "base64" && typeof mediaType === "string" && typeof data === "string")
    return withRest(
      { type: "file", mediaType, url: `data:${mediaType};base64,${data}`, ...filename },
      block,
      "source",
      "title",
    );
  if (type === "url" && typeof url === "string")
    return withRest({ type: "file", mediaType: `${block.type}/*`, url, ...filename }, block, "source", "title");
  if (type === "text" && typeof data === "string") return { type: "text", text: titled(block.title, data) };
  return rawPart(block);
}

function titled(title: unknown, text: string): string {
  return typeof title === "string" && title !== "" ? `${title}:\n${text}` : text;
}

function callOf(block: JsonObject): Part {
  const { id, name, input } = block;
  const call: Part = {
    type: "dynamic-tool",
    toolName: String(name),
    toolCallId: typeof id === "string" ? id : String(name),
    state: "input-available",
    input,
    ...(block.type === "tool_use" ? {} : { providerExecuted: true }),
  };
  const rest = without(block, "type", "id", "name", "input");
  return Object.keys(rest).length === 0 ? call : { ...call, callProviderMetadata: { anthropic: rest } };
}

function withRest(part: Part, block: JsonObject, ...read: string[]): Part {
  const rest = without(block, "type", ...read);
  return Object.keys(rest).length === 0 ? part : { ...part, providerMetadata: { anthropic: rest } };
}
