import type { SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, isoTime, type JsonObject, nameOf } from "@stemma/model";
import { without } from "../origin.js";
import type { Place, SessionBuilder } from "../session-builder.js";
import { type ExportedEntry, exportFormat, messagesOf, parentIdOf } from "./exported-tree.js";

/** The export of ChatGPT: a list of conversations, each a tree of nodes. Edited prompts and second answers are branches. */
export const chatgpt = exportFormat({
  name: "chatgpt",
  about: "ChatGPT's data export: its zip file, or conversations.json",
  recognises: (first) => {
    const conversation: unknown = Array.isArray(first) ? first[0] : first;
    return isJsonObject(conversation) && isJsonObject(conversation.mapping);
  },
  open(conversation) {
    const { mapping, title, current_node: leaf, default_model_slug: model } = conversation;
    if (!isJsonObject(mapping)) return null;
    const parents = parentsByChild(mapping);
    return {
      id: nameOf(conversation.conversation_id) ?? nameOf(conversation.id),
      title,
      model,
      rest: without(conversation, "mapping"),
      messages: messagesOf(Object.entries(mapping), ([id, source]) => {
        const parent = (isJsonObject(source) ? parentIdOf(source.parent) : null) ?? parents.get(id) ?? null;
        return { id, parent, source, path: `.mapping[${JSON.stringify(id)}]` };
      }),
      leaf: () => String(leaf),
    };
  },
  noMessage: "not a node: it is no object",
  add: addNode,
});

// A node can also be named by its parent alone.
function parentsByChild(mapping: JsonObject): Map<unknown, string> {
  const parents = new Map<unknown, string>();
  for (const [id, node] of Object.entries(mapping)) {
    for (const child of isJsonObject(node) && Array.isArray(node.children) ? node.children : []) {
      if (child !== id && !parents.has(child)) parents.set(child, id);
    }
  }
  return parents;
}

/** Adds a node to the session. What hangs below it hangs below what this gives. */
function addNode(builder: SessionBuilder, entry: ExportedEntry, above: Place, length: number): Place {
  const { id, source: node, at } = entry;
  const message = isJsonObject(node.message) ? node.message : null;
  // The root has none, and says so.
  if (message === null && node.message !== null) builder.notUnderstood(at, "a node without a message");
  const author = isJsonObject(message?.author) ? message.author : {};
  const parts = message === null ? [] : partsOf(message, id);
  // The root, and what a system prompt that is not shown leaves.
  if (message === null || (parts.length === 0 && author.role !== "user" && author.role !== "tool")) {
    builder.keep(id, node, at, above.id);
    return above;
  }
  const result = author.role === "tool" ? answer(builder, message, above, length) : null;
  const place = result ?? addMessage(builder, entry, message, parts, above, length);
  const source = { ...node, message: without(message, "content") };
  builder.keep(id, source, at, place.id, parts.some(({ type }) => type === RAW) ? "content part" : null);
  return place;
}

function addMessage(
  builder: SessionBuilder,
  { id, at }: ExportedEntry,
  message: JsonObject,
  parts: SessionMessagePart[],
  above: Place,
  length: number,
): Place {
  const role = isJsonObject(message.author) ? message.author.role : undefined;
  const isCallless = role === "tool";
  const model = isJsonObject(message.metadata) ? nameOf(message.metadata.model_slug) : undefined;
  if (model !== undefined) builder.model = model;
  const seconds = message.create_time;
  const read = {
    id,
    role: role === "user" || role === "system" ? role : "assistant",
    // A result without its call is kept, but not as something that a model is told.
    parts: isCallless ? [{ type: RAW, data: message.content }] : parts,
    createdAt: typeof seconds === "number" ? isoTime(seconds * 1000) : null,
    model: role === "user" ? undefined : model,
  };
  return builder.addMessage(read, above, at, length);
}

// What is said to a tool is a call; its id is that of the node.
function partsOf(message: JsonObject, id: string): SessionMessagePart[] {
  const { recipient, content, author } = message;
  const isCall = typeof recipient === "string" && recipient !== "all" && recipient !== "";
  if (!isCall || content === undefined || !isJsonObject(author) || author.role !== "assistant")
    return partsOfContent(content);
  const text = textOfContent(content);
  const input = text === null ? content : (findJson(text) ?? text);
  return [{ type: "dynamic-tool", toolName: recipient, toolCallId: id, state: "input-available", input }];
}

function answer(builder: SessionBuilder, { content }: JsonObject, above: Place, length: number): Place | null {
  const output = textOfContent(content) ?? content ?? null;
  return builder.messages.answer(above.id, { state: "output-available", output }, length) === null ? null : above;
}

type Part = SessionMessagePart & JsonObject;

/** The type of a part that holds content as it stood in the file, a picture's place as a rule: no model is shown it. */
const RAW = "data-chatgpt";

function partsOfContent(content: unknown): Part[] {
  if (content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!isJsonObject(content)) return [{ type: RAW, data: content }];
  const { content_type: type, parts, thoughts } = content;
  if (type === "thoughts" && Array.isArray(thoughts)) return thoughts.map(partOfThought);
  if (type === "reasoning_recap") return [];
  if (Array.isArray(parts)) return parts.flatMap(partsOfPart);
  const text = textOfContent(content);
  return text === null ? [{ type: RAW, data: content }] : text === "" ? [] : [{ type: "text", text }];
}

/** The text of content that is one text: code, what it printed, what a page says. Null for any other. */
function textOfContent(content: unknown): string | null {
  if (!isJsonObject(content)) return null;
  const { text, result, parts } = content;
  if (typeof text === "string") return text;
  if (typeof result === "string") return result;
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === "string")) return null;
  return parts.join("\n");
}

function partsOfPart(part: unknown): Part[] {
  if (typeof part === "string") return part === "" ? [] : [{ type: "text", text: part }];
  // What was said aloud.
  if (isJsonObject(part) && part.content_type === "audio_transcription" && typeof part.text === "string")
    return [{ type: "text", text: part.text }];
  return [{ type: RAW, data: part }];
}

function partOfThought(thought: unknown): Part {
  const { summary, content }: JsonObject = isJsonObject(thought) ? thought : {};
  const texts = [summary, content].filter((text) => typeof text === "string" && text !== "");
  return texts.length === 0 ? { type: RAW, data: thought } : { type: "reasoning", text: texts.join("\n\n") };
}
