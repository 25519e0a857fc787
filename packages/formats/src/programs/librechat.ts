import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, type JsonObject, nameOf } from "@stemma/model";
import { type ExportedEntry, parentIdOf, piecesOfTree, readExport } from "../export/exported-tree.js";
import { findTime } from "../found.js";
import { without } from "../origin.js";
import { type Place, SessionBuilder } from "../session-builder.js";
import type { ImportFormat, ParsedSession, Position } from "../stemma/session-file.js";
import { keptPart } from "../unread.js";
import { partOfBlock } from "./chat/chat-messages.js";

/** A conversation as LibreChat exports it: a list of messages that name their parents, or a tree of them. */
export const librechat: ImportFormat = {
  name: "librechat",
  about: "a conversation exported from LibreChat (JSON)",
  recognises: (first) =>
    isJsonObject(first) &&
    findMessages(first).some((message) => isJsonObject(message) && typeof message.messageId === "string"),
  read: (items, file) => readExport(items, file, "librechat", readConversation),
};

function findMessages({ conversationId, messages, messagesTree }: JsonObject): unknown[] {
  const found = messagesTree ?? messages;
  return typeof conversationId === "string" && Array.isArray(found) ? found : [];
}

function readConversation(conversation: JsonObject, at: Position): Iterable<ParsedSession> | null {
  const id = nameOf(conversation.conversationId);
  const messages = findMessages(conversation);
  if (id === undefined || messages.length === 0) return null;
  const builder = new SessionBuilder({ id, source: "librechat" });
  builder.names.give(conversation.title);
  builder.model = isJsonObject(conversation.options) ? nameOf(conversation.options.model) : undefined;
  const source = without(conversation, "messages", "messagesTree");
  builder.keep({ key: "conversation", source, at, messageId: null, kind: null });
  const key = Array.isArray(conversation.messagesTree) ? "messagesTree" : "messages";
  const entries = entriesOf(messages, builder, { ...at, path: `${at.path ?? "$"}.${key}` });
  return piecesOfTree(builder, entries, entries.at(-1)?.id, (entry, above, length) =>
    addMessage(builder, entry, above, length),
  );
}

interface Found {
  value: unknown;
  parentId: string | null | undefined;
  at: Position;
}

/** The messages of a list and of the lists in them, parents first. */
function entriesOf(messages: readonly unknown[], builder: SessionBuilder, at: Position): ExportedEntry[] {
  const entries: ExportedEntry[] = [];
  const open = foundIn(messages, undefined, at);
  // A loop: a conversation of one branch is as deep as it is long.
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    const { value, parentId, at: place } = found;
    if (!isJsonObject(value) || typeof value.messageId !== "string") {
      builder.skip(place, "not a message: no messageId");
      continue;
    }
    const { messageId: id, parentMessageId, children } = value;
    entries.push({
      id,
      parentId: parentId ?? parentIdOf(parentMessageId),
      source: without(value, "children"),
      at: place,
    });
    // One by one: a list may be longer than a call may have arguments.
    for (const child of Array.isArray(children) ? foundIn(children, id, place) : []) open.push(child);
  }
  return entries;
}

// Last first, for a stack.
function foundIn(list: readonly unknown[], parentId: string | undefined, { line, path }: Position): Found[] {
  const field = parentId === undefined ? path : `${path}.children`;
  return list.map((value, index) => ({ value, parentId, at: { line, path: `${field}[${index}]` } })).reverse();
}

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const isUser = source.isCreatedByUser === true;
  const model = isUser ? undefined : nameOf(source.model);
  if (model !== undefined) builder.model = model;
  const createdAt = findTime(source.createdAt);
  const message: SessionMessage = {
    id,
    role: isUser ? "user" : "assistant",
    parts: partsOf(source),
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(model === undefined ? {} : { metadata: { model } }),
  };
  const place = builder.addMessage(message, above, at, length);
  builder.keep({ key: id, source: without(source, "text", "content"), at, messageId: id, kind: null });
  return place;
}

function partsOf(message: JsonObject): SessionMessagePart[] {
  return [...saidIn(message), ...(Array.isArray(message.files) ? message.files : []).map(partOfFile)];
}

// The file itself stays on the server; the text of a document is what the model was given.
function partOfFile(file: unknown): SessionMessagePart {
  if (!isJsonObject(file) || typeof file.text !== "string" || file.text === "") return keptPart(file);
  const name = typeof file.filename === "string" ? file.filename : "file";
  return { type: "text", text: `${name}:\n${file.text}` };
}

function saidIn(message: JsonObject): SessionMessagePart[] {
  const { content, text } = message;
  const given: unknown[] = Array.isArray(content)
    ? content
    : content === undefined || content === null
      ? []
      : [content];
  if (given.length > 0) return given.flatMap((part) => partOf(part) ?? []);
  if (typeof text === "string") return text === "" ? [] : [{ type: "text", text }];
  return [keptPart(message)];
}

/** A part of ours for one of LibreChat's; null for what says nothing. */
function partOf(part: unknown): SessionMessagePart | null {
  if (!isJsonObject(part)) return partOfBlock(part);
  const { type, think, error, tool_call: call } = part;
  const text =
    type === "think"
      ? plainText(think)
      : type === "error"
        ? (plainText(error) ?? plainText(part.text))
        : plainText(part.text);
  if (type === "agent_update") return null;
  if (type === "think" && text !== null) return text === "" ? null : { type: "reasoning", text };
  if ((type === "text" || type === "error") && text !== null) return text === "" ? null : { type: "text", text };
  return type === "tool_call" && isJsonObject(call) ? (callOf(call) ?? keptPart(part)) : partOfBlock(part);
}

// A text, or an object that holds it.
function plainText(text: unknown): string | null {
  const value = isJsonObject(text) ? text.value : text;
  return typeof value === "string" ? value : null;
}

function callOf(call: JsonObject): SessionMessagePart | null {
  const called = isJsonObject(call.function)
    ? call.function
    : isJsonObject(call.code_interpreter)
      ? call.code_interpreter
      : call;
  const name = called === call.code_interpreter ? "code_interpreter" : called.name;
  if (typeof name !== "string") return null;
  const args = called.args ?? called.arguments ?? called.input;
  const output = called.output ?? called.outputs;
  const part = {
    type: "dynamic-tool",
    toolName: name,
    toolCallId: typeof call.id === "string" && call.id !== "" ? call.id : name,
    state: "input-available",
    input: typeof args === "string" ? (findJson(args) ?? args) : (args ?? {}),
  };
  return output === undefined || output === null ? part : { ...part, state: "output-available", output };
}
