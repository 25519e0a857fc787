import { isJsonObject, type JsonObject } from "../model/json-object.js";
import { isTooDeep } from "../model/message.js";
import { searchableText } from "../model/text.js";
import { deriveSessionId, findName, nameFromText } from "./identity.js";
import { type FileInfo, type Item, type ParsedSession, type Position, type Skipped, TOO_DEEP } from "./session-file.js";

/** A list of messages as it stands in a file, not yet understood. */
export interface Conversation {
  messages: { value: JsonObject; at: Position }[];
  /** The other fields of the object that held the list; null when there was none. */
  record: JsonObject | null;
  /** The field that held the list. */
  key: string | null;
  skipped: Skipped[];
}

const LIST_FIELDS = ["messages", "traj", "conversation"];

/** The list of messages that an object holds, or null. */
export function findMessages(value: unknown): { key: string | null; messages: unknown[] } | null {
  if (Array.isArray(value)) return { key: null, messages: value };
  if (!isJsonObject(value)) return null;
  for (const key of LIST_FIELDS) {
    const messages = value[key];
    if (Array.isArray(messages)) return { key, messages };
  }
  return null;
}

/** The first message of a file whose first value this is; null when it holds none. */
export function findFirstMessage(first: unknown): JsonObject | null {
  if (isJsonObject(first) && typeof first.role === "string") return first;
  const list = findMessages(first)?.messages.find(isJsonObject);
  return list !== undefined && typeof list.role === "string" ? list : null;
}

/** The sessions of a file that holds conversations, each read by `readSession`, which is told its number, from 1. */
export async function* readSessions(
  items: AsyncIterable<Item>,
  file: FileInfo,
  readSession: (conversation: Conversation, file: FileInfo, number: number) => ParsedSession,
): AsyncGenerator<ParsedSession> {
  let number = 0;
  for await (const conversation of readConversations(items)) {
    number += 1;
    yield readSession(conversation, file, number);
  }
}

/**
 * Groups a file's values into conversations: messages that stand by themselves, one after the other, are one; a list of
 * messages, or an object that holds one under `messages`, `traj` or `conversation`, is one by itself.
 */
async function* readConversations(items: AsyncIterable<Item>): AsyncGenerator<Conversation> {
  let loose = emptyConversation();
  for await (const item of items) {
    if (item.kind === "listEnd") {
      if (loose.messages.length > 0) yield loose;
      loose = emptyConversation(loose.messages.length > 0 ? [] : loose.skipped);
      continue;
    }
    if (item.kind === "problem") {
      loose.skipped.push({ ...item.at, why: item.why });
      continue;
    }
    const { value, at } = item;
    const list = findMessages(value);
    if (list === null) {
      if (isTooDeep(value)) loose.skipped.push({ ...at, why: TOO_DEEP });
      else if (isJsonObject(value) && typeof value.role === "string") loose.messages.push({ value, at });
      else loose.skipped.push({ ...at, why: "neither a message nor a list of messages" });
      continue;
    }
    const conversation = emptyConversation();
    conversation.key = list.key;
    if (list.key !== null && isJsonObject(value)) {
      const { [list.key]: _, ...record } = value;
      if (isTooDeep(record)) conversation.skipped.push({ ...at, why: `what stands beside the messages: ${TOO_DEEP}` });
      else conversation.record = record;
    }
    const path = `${at.path ?? "$"}${list.key === null ? "" : `.${list.key}`}`;
    for (const [index, message] of list.messages.entries()) {
      const inList = { line: at.line, path: `${path}[${index}]` };
      if (isTooDeep(message)) conversation.skipped.push({ ...inList, why: TOO_DEEP });
      else if (isJsonObject(message) && typeof message.role === "string") {
        conversation.messages.push({ value: message, at: inList });
      } else conversation.skipped.push({ ...inList, why: "not a message: it has no role" });
    }
    // What was wrong between two conversations is told with the next one.
    conversation.skipped = [...loose.skipped, ...conversation.skipped];
    loose.skipped = [];
    yield conversation;
  }
  if (loose.messages.length > 0 || loose.skipped.length > 0) yield loose;
}

/** A session without messages yet, named and numbered after its conversation. */
export function openSession(conversation: Conversation, file: FileInfo, number: number, source: string): ParsedSession {
  const { record, messages, skipped } = conversation;
  const values = messages.map(({ value }) => value);
  return {
    id: deriveSessionId(record, file, number, values),
    name: findName(record) ?? "",
    source,
    messages: [],
    compactions: [],
    skipped: [...skipped],
  };
}

/** As an agent's program takes it: `/model`, `/mode plan`. */
const COMMAND = /^\s*\/[a-z][\w:-]*(?:\s|$)/i;

function nameOf(messages: ParsedSession["messages"]): string | null {
  let command: string | null = null;
  for (const { message } of messages) {
    const text = message.role === "user" ? searchableText(message) : "";
    const name = nameFromText(text);
    if (name !== null && !COMMAND.test(text)) return name;
    command ??= name;
  }
  return command;
}

/** Gives a session that has no name one: the first words of its user that are more than a command, else its id. */
export function nameSession(session: ParsedSession): ParsedSession {
  if (session.name !== "") return session;
  session.name = nameOf(session.messages) ?? session.id;
  return session;
}

function emptyConversation(skipped: Skipped[] = []): Conversation {
  return { messages: [], record: null, key: null, skipped };
}
