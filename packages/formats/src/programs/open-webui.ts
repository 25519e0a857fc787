import type { SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, isoTime, type JsonObject, nameOf } from "@stemma/model";
import { without } from "../origin.js";
import type { Place, SessionBuilder } from "../session-builder.js";
import { findText } from "../stemma/session-file.js";
import { rawPart } from "../unread.js";
import { partOfBlock } from "./chat/chat-messages.js";
import { fileOf } from "./chat/model-content.js";
import { fieldsOfOutput, isOutput, partOfItem, partsOfContent } from "./codex/codex-items.js";
import { type ExportedEntry, exportFormat, messagesOf } from "./exported-tree.js";

/** Chats as Open WebUI exports them: a list, or one. Edited prompts, second answers and those of several models are branches. */
export const openWebui = exportFormat({
  name: "open-webui",
  about: "chats exported from Open WebUI (JSON)",
  recognises: (first) => isJsonObject(first) && findHistory(first) !== null,
  open(conversation) {
    const history = findHistory(conversation);
    if (history === null) return null;
    const chat = isJsonObject(conversation.chat) ? conversation.chat : conversation;
    const { messages, currentId } = history;
    return {
      id: nameOf(conversation.id) ?? nameOf(chat.id),
      title: conversation.title ?? chat.title,
      model: Array.isArray(chat.models) ? chat.models[0] : undefined,
      rest: { ...without(conversation, "chat", "history"), chat: without(chat, "history", "messages") },
      messages: messagesOf(messages, ({ id, source, path }) => {
        return { id, parent: (isJsonObject(source) ? source.parentId : null) ?? null, source, path };
      }),
      leaf: (ids) => (typeof currentId === "string" ? currentId : ids.at(-1)),
    };
  },
  noMessage: "not a message: it is no object",
  add: addMessage,
});

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

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const { role, timestamp } = source;
  const read = {
    id,
    role: role === "user" || role === "system" ? role : "assistant",
    parts: partsOf(source),
    createdAt: typeof timestamp === "number" ? isoTime(timestamp * 1000) : null,
    model: role === "assistant" ? nameOf(source.model) : undefined,
  };
  const place = builder.addMessage(read, above, at, length);
  builder.keep(id, without(source, "content", "output"), at, id);
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
  return Array.isArray(content) ? content.map(partOfBlock) : [rawPart(message)];
}

// The items of a newer version: as those of OpenAI's Responses.
function partsOfOutput(items: readonly unknown[]): SessionMessagePart[] {
  const parts: SessionMessagePart[] = [];
  for (const item of items) {
    if (!isJsonObject(item)) parts.push(rawPart(item));
    else if (isOutput(item)) {
      const index = parts.findLastIndex((part) => part.toolCallId === item.call_id && part.state === "input-available");
      const call = parts[index];
      if (call === undefined) parts.push(rawPart(item));
      else parts[index] = { ...call, ...fieldsOfOutput(item) };
    } else if (item.type === "message") parts.push(...partsOfContent(item.content));
    else parts.push(partOfItem(item) ?? rawPart(item));
  }
  return parts;
}

// A picture is part of the message; of a document, the text is what the model was given.
function partOfFile(file: unknown): SessionMessagePart {
  if (!isJsonObject(file)) return rawPart(file);
  const { type, url, name } = file;
  const stored = isJsonObject(file.file) ? file.file : {};
  const text = isJsonObject(stored.data) ? findText(stored.data.content) : undefined;
  if (type === "image" && typeof url === "string") return fileOf({ ...file, data: url }) ?? rawPart(file);
  return text === undefined ? rawPart(file) : { type: "text", text: `${findText(name) ?? "file"}:\n${text}` };
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
