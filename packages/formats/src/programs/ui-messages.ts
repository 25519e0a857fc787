import type { Pieces, SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, quote, sameJson } from "@stemma/model";
import { type Conversation, firstMessages, nameSession, openSession, readSessions } from "../conversations.js";
import { deriveId } from "../identity.js";
import { without } from "../origin.js";
import { areParts, type FileInfo, type ImportFormat, type ParsedSession } from "../stemma/session-file.js";
import { rawPart } from "../unread.js";
import { dialectOf } from "./chat/chat-dialect.js";
import { fileOf } from "./chat/model-content.js";
/**
 * Messages as the AI SDK keeps them: `{ id, role, parts }`. They are taken over unchanged, but for those of versions 3 and 4,
 * which get the parts of version 5; one without an id gets one.
 */
export const uiMessages: ImportFormat = {
  name: "ui-messages",
  about: "AI SDK UIMessages (JSON or JSONL): a list, { messages: […] }, a list of those, or a message per line",
  recognises: (first) => dialectOf(firstMessages(first)) === "ui-messages",
  // Before version 5, a message whose only content is a text.
  alsoReads: (first) =>
    firstMessages(first).some(({ id, content }) => typeof id === "string" && typeof content === "string"),
  read: (items, file) => readSessions(items, file, readUiMessages),
};

/** Reads a list of the AI SDK's UI messages. */
export function* readUiMessages(conversation: Conversation, file: FileInfo, number: number): Pieces<ParsedSession> {
  const session = openSession(conversation, file, number, "ui-messages");
  const seen = new Set<string>();
  let parentId: string | null = null;
  for (const { value: read, at } of conversation.messages) {
    yield;
    const value = read.role === "data" ? rawMessage(read) : read;
    const given = partsOfUiMessage(value);
    const parts = given?.filter((part) => areParts([part])) ?? [];
    const why = faultOf(value, given, parts);
    if (why !== null) {
      session.skipped.push({ ...at, why });
      continue;
    }
    const id: string = value.id === undefined ? deriveId(session.id, parentId, value) : String(value.id);
    if (seen.has(id)) {
      session.skipped.push({ ...at, why: `the id ${quote(id)} stands in the file twice; the first is kept` });
      continue;
    }
    seen.add(id);
    if (parts.length !== given?.length) session.skipped.push({ ...at, why: BAD_PART });
    // Whether it can be stored is for the importer to find out.
    session.messages.push({ message: messageOf(value, id, parts) as unknown as SessionMessage, parentId, at });
    parentId = id;
  }
  return nameSession(session);
}

/** Fields of a UI message that its parts, or the message that is stored, have too. */
const READ = [
  "id",
  "role",
  "parts",
  "createdAt",
  "metadata",
  "content",
  "toolInvocations",
  "reasoning",
  "experimental_attachments",
];

// What versions 3 and 4 let a program send beside the messages: no model takes its role.
function rawMessage(value: JsonObject): JsonObject {
  const { id, createdAt } = value;
  return { id, role: "assistant", parts: [rawPart(value)], ...(createdAt === undefined ? {} : { createdAt }) };
}

// A message of version 5 is taken over as it is. What an older one has beside its parts is metadata.
function messageOf(value: JsonObject, id: string, parts: unknown[]): JsonObject {
  if (sameJson(parts, value.parts)) return value.id === undefined ? { id, ...value } : value;
  const { role, createdAt } = value;
  const metadata = { ...without(value, ...READ), ...(isJsonObject(value.metadata) ? value.metadata : {}) };
  return { id, role, parts, ...(createdAt === undefined ? {} : { createdAt }), metadata };
}

const BAD_PART = "a part of the message is not an object with a type";

// Why a value is no message that can be stored.
function faultOf({ id }: JsonObject, given: unknown[] | null, parts: unknown[]): string | null {
  if (id !== undefined && typeof id !== "string") return "the message's id is not a text";
  if (given === null) return "the message has no parts";
  return given.length > 0 && parts.length === 0 ? BAD_PART : null;
}

/** The parts of a UI message of the AI SDK in the form of version 5, in which versions 3 and 4 are read too. Null for none. */
function partsOfUiMessage(message: JsonObject): unknown[] | null {
  const { parts, content, toolInvocations, reasoning, experimental_attachments: attachments } = message;
  const isOlder = typeof content === "string" || Array.isArray(toolInvocations) || Array.isArray(attachments);
  if (Array.isArray(parts) && (parts.length > 0 || !isOlder)) return parts.map(partOfVersion5);
  if (!isOlder) return null;
  return [
    ...read(reasoning, (text) => (text === "" ? [] : [{ type: "reasoning", text }])),
    ...listOf(toolInvocations).map((toolInvocation) => partOfVersion5({ type: "tool-invocation", toolInvocation })),
    ...read(content, (text) => (text === "" ? [] : [{ type: "text", text }])),
    ...listOf(attachments).map((file) => (isJsonObject(file) ? fileOf(file) : null) ?? rawPart(file)),
    ...(Array.isArray(parts) ? [] : listOf(parts).map(rawPart)),
  ];
}

/** A part that came before version 5 in its form, any other as it is. */
function partOfVersion5(part: unknown): unknown {
  if (!isJsonObject(part)) return part;
  const { type, toolInvocation, source, reasoning, text } = part;
  if (type === "tool-invocation" && isJsonObject(toolInvocation)) return toolPartOf(toolInvocation) ?? rawPart(part);
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
  return typeof text === "string" ? asParts(text) : listOf(text).map(rawPart);
}
