import { isJsonObject, type JsonObject, nameOf, type SessionMessagePart } from "@stemma/model";
import { without } from "../../origin.js";
import type { Place, SessionBuilder } from "../../session-builder.js";
import { findTime } from "../../stemma/session-file.js";
import { type ExportedEntry, exportFormat, messagesOf } from "../exported-tree.js";

/** The export of Claude's apps: a list of conversations. Where messages name their parents, edits are branches. */
export const claude = exportFormat({
  name: "claude",
  about: "the data export of Claude's apps: its zip file, or conversations.json",
  recognises: (first) => {
    const conversation: unknown = Array.isArray(first) ? first[0] : first;
    return isJsonObject(conversation) && Array.isArray(conversation.chat_messages);
  },
  open(conversation) {
    const { uuid, chat_messages: messages, name, model, project, current_leaf_message_uuid: leaf } = conversation;
    if (!Array.isArray(messages)) return null;
    const projectName = isJsonObject(project) ? nameOf(project.name) : undefined;
    return {
      id: nameOf(uuid),
      title: name,
      model,
      metadata: projectName === undefined ? null : { project: projectName },
      rest: without(conversation, "chat_messages"),
      messages: messagesOf<unknown>(messages, (source, index) => {
        const { uuid: id, parent_message_uuid: parent }: JsonObject = isJsonObject(source) ? source : {};
        return { id, parent, source, path: `.chat_messages[${index}]` };
      }),
      leaf: (ids) => (typeof leaf === "string" && ids.includes(leaf) ? leaf : ids.at(-1)),
    };
  },
  noMessage: "not a message: no uuid",
  add: addMessage,
});

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const parts = partsOf(source);
  const role = source.sender === "human" ? "user" : "assistant";
  const place = builder.addMessage({ id, role, parts, createdAt: findTime(source.created_at) }, above, at, length);
  const kind = countUnknown(parts) > 0 ? "content block" : null;
  builder.keep(id, without(source, "content", "text"), at, id, kind);
  return place;
}

function partsOf(message: JsonObject): SessionMessagePart[] {
  const { uuid, text, attachments } = message;
  const content = Array.isArray(message.content)
    ? message.content.map((block, index) => withCallId(block, `${uuid}-${index}`))
    : message.content;
  if (content === undefined && text === undefined && attachments === undefined) return [rawPart(message)];
  const parts: SessionMessagePart[] = partsOfBlocks(content);
  if (parts.length === 0) parts.push(...partsOfBlocks(text));
  for (const attachment of Array.isArray(attachments) ? attachments : []) {
    if (!isJsonObject(attachment) || typeof attachment.extracted_content !== "string") {
      parts.push(rawPart(attachment));
      continue;
    }
    const { file_name: name, extracted_content: extracted } = attachment;
    parts.push({ type: "text", text: `${typeof name === "string" && name !== "" ? `${name}:\n` : ""}${extracted}` });
  }
  return parts;
}

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
