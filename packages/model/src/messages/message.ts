import { kindOf, quote, StemmaError, shorten } from "../errors.js";
import { isJsonObject, isTextTooDeep, jsonCopy, MAX_DEPTH, setField } from "../lib/json.js";
import { assertFits, assertStorableText, utf8Length } from "./storable-text.js";
/**
 * One part of a message. Any object with a `type` is a part; the fields named here are those that Stemma itself reads.
 * Every part of the AI SDK's `UIMessage` fits.
 */
export interface SessionMessagePart {
  type: string;
  text?: string;
  reasoning?: string;
  toolName?: string;
  toolCallId?: string;
  state?: string;
  input?: unknown;
  output?: unknown;
  result?: unknown;
  errorText?: string;
  url?: unknown;
  mediaType?: string;
  [field: string]: unknown;
}

/**
 * A message as it is stored and given back: what was given, less the fields that JSON drops (`undefined`).
 * The AI SDK's `UIMessage` is structurally compatible.
 */
export interface SessionMessage {
  id: string;
  role: string;
  parts: SessionMessagePart[];
  createdAt?: Date | string | number;
  metadata?: unknown;
}

/** A message as it is read. It fits `UIMessage` too, so that a history can go to the AI SDK's functions as it is. */
export interface HistoryMessage extends SessionMessage {
  // biome-ignore lint/suspicious/noExplicitAny: any text is stored, and a UIMessage takes three.
  role: any;
  parts: HistoryMessagePart[];
}

export interface HistoryMessagePart extends SessionMessagePart {
  // biome-ignore lint/suspicious/noExplicitAny: any text is stored, and each part of a UIMessage takes one.
  type: any;
}

/** Ids of synthetic summary messages start with this; no stored message may. */
export const SUMMARY_ID_PREFIX = "compaction_";

/** True for the synthetic message that stands for a compacted range in a history. */
export function isSummaryMessage(message: { id: string }): boolean {
  return message.id.startsWith(SUMMARY_ID_PREFIX);
}

/** True for a summary's message, of anything that a host may pass. */
export function isSummary(value: unknown): boolean {
  const id = (value as Partial<SessionMessage> | null | undefined)?.id;
  return typeof id === "string" && isSummaryMessage({ id });
}

/** Throws `INVALID_MESSAGE` unless `value`, made by `givenMessage` from `text`, has an id, a role and parts that can be stored. */
export function assertMessage(value: object, text: string): asserts value is SessionMessage {
  const { id, role, parts, createdAt } = value as Partial<Record<keyof SessionMessage, unknown>>;
  if (parts === undefined && "content" in value) throw contentForParts(value);
  if (typeof id !== "string" || id === "") {
    const rule = "JSON writes the fields of an object itself, not those that it inherits or that its class computes.";
    throw invalidMessage(`A message needs an id: a non-empty string. ${rule}`);
  }
  assertFits(id, "A message id", "id", "INVALID_MESSAGE");
  assertStorableText(id, "A message id");
  if (isSummaryMessage({ id })) throw reservedId(id);
  if (typeof role !== "string" || role === "") throw invalidMessage("A message needs a role: a non-empty string.", id);
  assertFits(role, "A message role", "role", "INVALID_MESSAGE");
  assertStorableText(role, "A message role");
  if (!Array.isArray(parts)) throw invalidMessage("A message needs parts: an array, which may be empty.", id);
  for (const part of parts) {
    if (!isJsonObject(part) || typeof part.type !== "string") {
      throw invalidMessage(`Every part of a message is an object with a type; got ${kindOf(part)}.`, id);
    }
  }
  const dated = createdAt === undefined || typeof createdAt === "string" || typeof createdAt === "number";
  if (!dated && !(createdAt instanceof Date && !Number.isNaN(createdAt.getTime()))) {
    throw invalidMessage("createdAt is a valid Date (or a text or a number), or is left out.", id);
  }
  if (isTextTooDeep(text, value)) {
    throw invalidMessage(`A message may be nested at most ${MAX_DEPTH} levels deep: store deeper data as a text.`, id);
  }
}

/** An error for a message as the APIs of models have it, `{ role, content }`: it shows how the same is written here. */
export function contentForParts({
  id,
  role,
  content,
}: {
  id?: unknown;
  role?: unknown;
  content?: unknown;
}): StemmaError {
  const shown = {
    id: typeof id === "string" && id !== "" ? shorten(id) : "m1",
    role: typeof role === "string" && role !== "" ? shorten(role) : "user",
    text: typeof content === "string" ? shorten(content) : "Hello",
  };
  const [shownId, shownRole, text] = [shown.id, shown.role, shown.text].map((each) => JSON.stringify(each));
  const line = `{ id: ${shownId}, role: ${shownRole}, parts: [{ type: "text", text: ${text} }] }`;
  return invalidMessage(`A message has parts, not content. Write ${line}.`, typeof id === "string" ? id : undefined);
}

/** The error for the id of a summary that the session does not have. */
export function reservedId(id: string): StemmaError {
  return invalidMessage(
    `Ids that start with "${SUMMARY_ID_PREFIX}" are reserved for summaries; choose another id.`,
    id,
  );
}

export function invalidMessage(message: string, messageId?: string): StemmaError {
  return new StemmaError("INVALID_MESSAGE", { messageId }, message);
}

/** How many bytes a message has as JSON. */
export const jsonBytes = (message: SessionMessage): number => utf8Length(JSON.stringify(message));

/** Takes messages for `SessionStore.recent`, the newest first. `done` gives what that resolves to. */
export function takeRecent(maxBytes: number, minMessages: number) {
  const newestFirst: SessionMessage[] = [];
  let total = 0;
  return {
    /** Takes a message if there is room for it. */
    take(message: SessionMessage, bytes: number): boolean {
      if (newestFirst.length >= minMessages && total + bytes > maxBytes) return false;
      newestFirst.push(message);
      total += bytes;
      return true;
    },
    done: (truncated: boolean) => ({
      messages: newestFirst.reverse(),
      truncated,
      totalContentBytes: total,
    }),
  };
}

// What was read of the objects that `givenMessage` made, until it is taken.
const serialised = new WeakMap<object, string>();

/**
 * Copies a host's message as JSON writes it: plain, read once, so that what is checked is what is stored whatever a getter or
 * `toJSON` says the next time. `createdAt` stays a `Date` where one was given. Whether it is a message, `assertMessage`
 * tells. Errors: `INVALID_MESSAGE` for what JSON cannot write, `MESSAGE_TOO_LARGE`.
 */
export function givenMessage(value: unknown): SessionMessage {
  if (isJsonObject(value) && serialised.has(value)) return value as unknown as SessionMessage;
  const message: Record<string, unknown> = {};
  try {
    const { toJSON } = (value ?? {}) as { toJSON?: unknown };
    const fields: unknown = typeof toJSON === "function" ? toJSON.call(value, "") : value;
    if (!isJsonObject(fields))
      throw invalidMessage(`A message is an object with id, role and parts; got ${kindOf(fields)}.`);
    let createdAt: Date | null = null;
    // JSON writes an object's own fields.
    for (const key of Object.keys(fields)) {
      const field = fields[key];
      if (key === "createdAt" && field instanceof Date) createdAt = new Date(field);
      setField(message, key, jsonCopy(field, key));
    }
    const text = JSON.stringify(message);
    if (createdAt !== null) message.createdAt = createdAt;
    serialised.set(message, text);
    return message as unknown as SessionMessage;
  } catch (cause) {
    throw StemmaError.isInstance(cause) ? cause : unwritable(message.id, cause);
  }
}

/** Messages of a list that are read before the call returns which is given them. */
export const MOST_AT_ONCE = 500;

/**
 * The messages of a list that a host gave: of a short one as `givenMessage` makes them. A longer one is only copied as a list, for
 * reading its messages would hold up the event loop: whoever stores them calls `givenMessage` on each.
 */
export function givenMessages(list: readonly unknown[]): SessionMessage[] {
  return list.length > MOST_AT_ONCE ? (list.slice() as SessionMessage[]) : list.map(givenMessage);
}

function unwritable(id: unknown, cause: unknown): StemmaError {
  const tooLarge = cause instanceof RangeError && /string length/i.test(cause.message);
  const why = cause instanceof Error ? cause.message : typeof cause;
  const messageId = typeof id === "string" ? id : undefined;
  const message = `Message ${quote(messageId ?? "")} cannot be written as JSON: ${shorten(why)}`;
  return new StemmaError(tooLarge ? "MESSAGE_TOO_LARGE" : "INVALID_MESSAGE", { messageId }, message, { cause });
}

/** The JSON text of what `givenMessage` made; null when it was taken before. It may have been changed since then. */
export function takeSerialised(message: SessionMessage): string | null {
  const text = serialised.get(message) ?? null;
  serialised.delete(message);
  return text;
}
