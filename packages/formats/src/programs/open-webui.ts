import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, isoTime, type JsonObject, nameOf } from "@stemma/model";
import { type ExportedEntry, parentIdOf, piecesOfTree, readExport } from "../export/exported-tree.js";
import { findText } from "../found.js";
import { without } from "../origin.js";
import { type Place, SessionBuilder } from "../session-builder.js";
import type { ImportFormat, ParsedSession, Position } from "../stemma/session-file.js";
import { keptPart } from "../unread.js";
import { partOfBlock } from "./chat/chat-messages.js";
import { fileOf } from "./chat/model-content.js";
import { fieldsOfOutput, isOutput, partOfItem, partsOfContent } from "./codex/codex-items.js";
/** Chats as Open WebUI exports them: a list, or one. Edited prompts, second answers and those of several models are branches. */
export const openWebui: ImportFormat = {
  name: "open-webui",
  about: "chats exported from Open WebUI (JSON)",
  recognises: (first) => isJsonObject(first) && findHistory(first) !== null,
  read: (items, file) => readExport(items, file, "open-webui", readConversation),
};

interface History {
  /** The messages with their ids, and where each stands in the conversation. */
  messages: { id: string; source: unknown; path: string }[];
  currentId: unknown;
}

/** The messages by their ids, and the one that the chat stands at; where there are none, those of the path, which stand beside them. */
function findHistory({ chat, history: own }: JsonObject): History | null {
  const history = isJsonObject(chat) ? chat.history : own;
  const { messages: tree, currentId }: JsonObject = isJsonObject(history) ? history : {};
  const list = isJsonObject(chat) ? chat.messages : undefined;
  const hasTree = isJsonObject(tree) && Object.keys(tree).length > 0;
  if (!hasTree && Array.isArray(list) && list.length > 0) return { messages: messagesOfList(list), currentId };
  if (!isJsonObject(tree)) return null;
  const messages = Object.entries(tree).map(([id, source]) => {
    return { id, source, path: `.chat.history.messages[${JSON.stringify(id)}]` };
  });
  return { messages, currentId };
}

// Those of the first versions have neither an id nor a parent.
function messagesOfList(list: readonly unknown[]): History["messages"] {
  let parentId: string | null = null;
  return list.map((source, index) => {
    const id = (isJsonObject(source) ? nameOf(source.id) : undefined) ?? `message-${index + 1}`;
    const message = isJsonObject(source) ? { parentId, ...source } : source;
    parentId = id;
    return { id, source: message, path: `.chat.messages[${index}]` };
  });
}

function readConversation(conversation: JsonObject, at: Position): Iterable<ParsedSession> | null {
  const history = findHistory(conversation);
  const chat = isJsonObject(conversation.chat) ? conversation.chat : conversation;
  const id = nameOf(conversation.id) ?? nameOf(chat.id);
  if (history === null || id === undefined) return null;
  const builder = new SessionBuilder({ id, source: "open-webui" });
  builder.names.give(conversation.title ?? chat.title);
  builder.model = Array.isArray(chat.models) ? nameOf(chat.models[0]) : undefined;
  const source = { ...without(conversation, "chat", "history"), chat: without(chat, "history", "messages") };
  builder.keep({ key: "conversation", source, at, messageId: null, kind: null });
  const entries = entriesOf(history.messages, builder, at);
  const leaf = typeof history.currentId === "string" ? history.currentId : entries.at(-1)?.id;
  return piecesOfTree(builder, entries, leaf, (entry, above, length) => addMessage(builder, entry, above, length));
}

function entriesOf(messages: History["messages"], builder: SessionBuilder, at: Position): ExportedEntry[] {
  return messages.flatMap(({ id, source, path }) => {
    const place = { ...at, path: `${at.path ?? "$"}${path}` };
    if (isJsonObject(source)) return [{ id, parentId: parentIdOf(source.parentId), source, at: place }];
    builder.skip(place, "not a message: it is no object");
    return [];
  });
}

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const { role, timestamp } = source;
  const model = role === "assistant" ? nameOf(source.model) : undefined;
  if (model !== undefined) builder.model = model;
  const createdAt = typeof timestamp === "number" ? isoTime(timestamp * 1000) : null;
  const message: SessionMessage = {
    id,
    role: role === "user" || role === "system" ? role : "assistant",
    parts: partsOf(source),
    ...(createdAt === null ? {} : { createdAt }),
    ...(model === undefined ? {} : { metadata: { model } }),
  };
  const place = builder.addMessage(message, above, at, length);
  builder.keep({ key: id, source: without(source, "content", "output"), at, messageId: id, kind: null });
  return place;
}

function partsOf(message: JsonObject): SessionMessagePart[] {
  const { content, output, files, error } = message;
  const parts = Array.isArray(output) && output.length > 0 ? partsOfOutput(output) : partsOfContentOf(content, message);
  const failed = isJsonObject(error) ? findText(error.content) : undefined;
  if (parts.length === 0 && failed !== undefined) parts.push({ type: "text", text: failed });
  return [...parts, ...(Array.isArray(files) ? files : []).map(partOfFile)];
}

function partsOfContentOf(content: unknown, message: JsonObject): SessionMessagePart[] {
  if (typeof content === "string") return partsOfText(content);
  return Array.isArray(content) ? content.map(partOfBlock) : [keptPart(message)];
}

// The items of a newer version: as those of OpenAI's Responses.
function partsOfOutput(items: readonly unknown[]): SessionMessagePart[] {
  const parts: SessionMessagePart[] = [];
  for (const item of items) {
    if (!isJsonObject(item)) parts.push(keptPart(item));
    else if (isOutput(item)) {
      const index = parts.findLastIndex((part) => part.toolCallId === item.call_id && part.state === "input-available");
      const call = parts[index];
      if (call === undefined) parts.push(keptPart(item));
      else parts[index] = { ...call, ...fieldsOfOutput(item) };
    } else if (item.type === "message") parts.push(...partsOfContent(item.content));
    else parts.push(partOfItem(item) ?? keptPart(item));
  }
  return parts;
}

// A picture is part of the message; of a document, the text is what the model was given.
function partOfFile(file: unknown): SessionMessagePart {
  if (!isJsonObject(file)) return keptPart(file);
  const { type, url, name } = file;
  const stored = isJsonObject(file.file) ? file.file : {};
  const text = isJsonObject(stored.data) ? findText(stored.data.content) : undefined;
  if (type === "image" && typeof url === "string") return fileOf({ ...file, data: url }) ?? keptPart(file);
  return text === undefined ? keptPart(file) : { type: "text", text: `${findText(name) ?? "file"}:\n${text}` };
}

const OPENING = '<details type="';
const CLOSING = "</details>";
const KINDS = ["reasoning", "tool_calls", "code_interpreter"];

/** The parts of a text in which Open WebUI wrote calls and reasoning as `<details>` elements. */
export function partsOfText(text: string): SessionMessagePart[] {
  const parts: SessionMessagePart[] = [];
  let end = 0;
  let body = 0;
  let closing = 0;
  const say = (words: string): void => {
    if (words.trim() !== "") parts.push({ type: "text", text: words.trim() });
  };
  for (let start = text.indexOf(OPENING); start !== -1; start = text.indexOf(OPENING, Math.max(start + 1, end))) {
    // Each is looked for once: an end that stands far behind would be looked for from every opening.
    if (body <= start) body = text.indexOf(">", start) + 1;
    if (closing < body) closing = text.indexOf(CLOSING, body);
    if (body === 0 || closing === -1) break;
    const next = text.indexOf(OPENING, start + 1);
    if (next !== -1 && next < body) continue;
    const attributes = attributesOf(text.slice(start, body));
    if (!KINDS.includes(attributes.type ?? "")) continue;
    say(text.slice(end, start));
    const words = text.slice(body, closing);
    parts.push(
      attributes.type === "tool_calls" ? callOf(attributes, parts.length) : { type: "reasoning", text: wordsOf(words) },
    );
    end = closing + CLOSING.length;
  }
  say(text.slice(end));
  return parts;
}

function callOf(
  { id, name, arguments: args, result }: Partial<Record<string, string>>,
  index: number,
): SessionMessagePart {
  const toolName = name ?? "unknown";
  const call = {
    type: "dynamic-tool",
    toolName,
    toolCallId: id ?? `${toolName}-${index}`,
    state: "input-available",
    // Both are JSON; that of arguments may hold another JSON as a text.
    input: jsonOf(jsonOf(args ?? "{}")),
  };
  return result === undefined || result === "" ? call : { ...call, state: "output-available", output: jsonOf(result) };
}

function jsonOf(value: unknown): unknown {
  return typeof value === "string" ? (findJson(value) ?? value) : value;
}

// What the model thought is a quotation, below a line for the reader.
function wordsOf(body: string): string {
  const words = unescaped(body.replace(/<summary>[^<]*<\/summary>/, "")).trim();
  return words.replace(/^> ?/gm, "");
}

function attributesOf(text: string): Partial<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(/(?<!\w)(\w+)="([^"]*)"/g)) attributes[name] = unescaped(value);
  return attributes;
}

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', "#x27": "'", "#39": "'", lt: "<", gt: ">", amp: "&" };

function unescaped(text: string): string {
  return text.replace(/&(quot|#x27|#39|lt|gt|amp);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
