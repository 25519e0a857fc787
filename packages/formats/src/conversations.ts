import {
  forEachYielding,
  inPieces,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type Pieces,
  searchableText,
} from "@stemma/model";
import { deriveSessionId, findName, nameFromText } from "./identity.js";
import { without } from "./origin.js";
import {
  type FileInfo,
  type Item,
  type ParsedSession,
  type Position,
  type Skipped,
  TOO_DEEP,
} from "./stemma/session-file.js";

export interface Conversation {
  messages: { value: JsonObject; at: Position }[];
  /** The other fields of the object that held the list; null when there was none. */
  record: JsonObject | null;
  key: string | null;
  skipped: Skipped[];
}

/** Fields of an object that hold its list of messages. */
const LIST_FIELDS = ["messages", "traj", "conversation", "contents", "history", "items", "input", "output"];

/** A list of messages, and the field that holds it; null for a list by itself. */
interface MessageList {
  key: string | null;
  messages: unknown[];
}

/** The list of messages that a value holds: of a request with its answer, two. Null for a value without one. */
function findLists(value: unknown): MessageList[] | null {
  if (Array.isArray(value)) return [{ key: null, messages: value }];
  // A message may have lists of its own.
  if (isMessage(value) || !isJsonObject(value)) return null;
  const key = LIST_FIELDS.find((field) => Array.isArray(value[field]));
  if (key === undefined) return null;
  const keys = key === "input" && Array.isArray(value.output) ? [key, "output"] : [key];
  return keys.map((field) => ({ key: field, messages: value[field] as unknown[] }));
}

/** As many messages of a file's first value tell its format. */
const FIRST = 1000;

/** The first messages of a file's first value, as far as it has some. */
export function firstMessages(first: unknown): JsonObject[] {
  if (isMessage(first)) return [first];
  const found: JsonObject[] = [];
  for (const { messages } of findLists(first) ?? []) {
    for (const message of messages) {
      if (isMessage(message)) found.push(message);
      if (found.length === FIRST) return found;
    }
  }
  return found;
}

/** True for what may be a message, or one of the items in which OpenAI's Responses and its Agents SDK write what a model did. */
export function isMessage(value: unknown): value is JsonObject {
  return isJsonObject(value) && (typeof value.role === "string" || isItem(value));
}

/** True for an item of OpenAI's Responses that is no message. */
export function isItem({ type, role }: JsonObject): boolean {
  return role === undefined && typeof type === "string" && /^reasoning$|_call$|_call_(output|result)$/.test(type);
}

/** The sessions of a file that holds conversations, each read by `readSession`, which is told its number, from 1. */
export async function* readSessions(
  items: AsyncIterable<Item>,
  file: FileInfo,
  readSession: (conversation: Conversation, file: FileInfo, number: number) => Pieces<ParsedSession>,
): AsyncGenerator<ParsedSession> {
  let number = 0;
  for await (const conversation of readConversations(items)) {
    number += 1;
    yield await inPieces(readSession(conversation, file, number));
  }
}

/**
 * Groups a file's values into conversations: messages that stand by themselves, one after the other, are one; a list of
 * messages, or an object that holds one under a field of `LIST_FIELDS`, is one by itself.
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
    const lists = findLists(value);
    if (lists === null) {
      if (isTooDeep(value)) loose.skipped.push({ ...at, why: TOO_DEEP });
      else if (isMessage(value)) loose.messages.push({ value, at });
      else loose.skipped.push({ ...at, why: "neither a message nor a list of messages" });
      continue;
    }
    const conversation = emptyConversation();
    const [{ key = null } = {}] = lists;
    conversation.key = key;
    if (key !== null && isJsonObject(value)) {
      const record = without(value, ...lists.map((list) => String(list.key)));
      if (isTooDeep(record)) conversation.skipped.push({ ...at, why: `what stands beside the messages: ${TOO_DEEP}` });
      else conversation.record = record;
    }
    for (const list of lists) await addList(conversation, list, at);
    // What was wrong between two conversations is told with the next one.
    conversation.skipped = [...loose.skipped, ...conversation.skipped];
    loose.skipped = [];
    yield conversation;
  }
  if (loose.messages.length > 0 || loose.skipped.length > 0) yield loose;
}

async function addList(conversation: Conversation, { key, messages }: MessageList, at: Position): Promise<void> {
  const path = `${at.path ?? "$"}${key === null ? "" : `.${key}`}`;
  await forEachYielding(messages.entries(), ([index, message]) => {
    const inList = { line: at.line, path: `${path}[${index}]` };
    if (isTooDeep(message)) conversation.skipped.push({ ...inList, why: TOO_DEEP });
    else if (isMessage(message)) conversation.messages.push({ value: message, at: inList });
    else conversation.skipped.push({ ...inList, why: "not a message: it has no role" });
  });
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
