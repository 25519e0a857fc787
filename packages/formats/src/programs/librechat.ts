import type { SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, type JsonObject, nameOf } from "@stemma/model";
import { without } from "../origin.js";
import type { Place, SessionBuilder } from "../session-builder.js";
import { findTime } from "../stemma/session-file.js";
import { rawPart } from "../unread.js";
import { partOfBlock } from "./chat/chat-messages.js";
import { type ExportedEntry, exportFormat } from "./exported-tree.js";

/** A conversation as LibreChat exports it: a list of messages that name their parents, or a tree of them. */
export const librechat = exportFormat({
  name: "librechat",
  about: "a conversation exported from LibreChat (JSON)",
  recognises: (first) =>
    isJsonObject(first) &&
    findMessages(first).some((message) => isJsonObject(message) && typeof message.messageId === "string"),
  open(conversation) {
    const { conversationId, title, options, messagesTree } = conversation;
    const messages = findMessages(conversation);
    if (messages.length === 0) return null;
    return {
      id: nameOf(conversationId),
      title,
      model: isJsonObject(options) ? options.model : undefined,
      rest: without(conversation, "messages", "messagesTree"),
      messages: messagesIn(messages, Array.isArray(messagesTree) ? ".messagesTree" : ".messages"),
    };
  },
  noMessage: "not a message: no messageId",
  add: addMessage,
});

function findMessages({ conversationId, messages, messagesTree }: JsonObject): unknown[] {
  const found = messagesTree ?? messages;
  return typeof conversationId === "string" && Array.isArray(found) ? found : [];
}

interface Found {
  readonly source: unknown;
  readonly parentId: string | undefined;
  readonly path: string;
}

/** The messages of a list and of the lists in them, parents first. */
function* messagesIn(messages: readonly unknown[], field: string) {
  const open = foundIn(messages, undefined, field);
  // A loop: a conversation of one branch is as deep as it is long.
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    const { source, parentId, path } = found;
    const { messageId: id, parentMessageId, children }: JsonObject = isJsonObject(source) ? source : {};
    const own = isJsonObject(source) ? without(source, "children") : source;
    yield { id, parent: parentId ?? parentMessageId ?? null, source: own, path };
    if (typeof id !== "string" || !Array.isArray(children)) continue;
    // One by one: a list may be longer than a call may have arguments.
    for (const child of foundIn(children, id, `${path}.children`)) open.push(child);
  }
}

// Last first, for a stack.
function foundIn(list: readonly unknown[], parentId: string | undefined, field: string): Found[] {
  return list.map((source, index) => ({ source, parentId, path: `${field}[${index}]` })).reverse();
}

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const isUser = source.isCreatedByUser === true;
  const read = {
    id,
    role: isUser ? "user" : "assistant",
    parts: partsOf(source),
    createdAt: findTime(source.createdAt),
    model: isUser ? undefined : nameOf(source.model),
  };
  const place = builder.addMessage(read, above, at, length);
  builder.keep(id, without(source, "text", "content"), at, id);
  return place;
}

function partsOf(message: JsonObject): SessionMessagePart[] {
  return [...saidIn(message), ...(Array.isArray(message.files) ? message.files : []).map(partOfFile)];
}

// The file itself stays on the server; the text of a document is what the model was given.
function partOfFile(file: unknown): SessionMessagePart {
  if (!isJsonObject(file) || typeof file.text !== "string" || file.text === "") return rawPart(file);
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
  return [rawPart(message)];
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
  return type === "tool_call" && isJsonObject(call) ? (callOf(call) ?? rawPart(part)) : partOfBlock(part);
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
