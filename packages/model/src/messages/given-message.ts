import { kindOf, quote, StemmaError, shorten } from "../errors.js";
import { isJsonObject, jsonCopy, setField } from "../lib/json.js";
import { invalidMessage, type SessionMessage } from "./message.js";

// What was read of the objects that `givenMessage` made, until it is taken.
const serialised = new WeakMap<object, string>();

/**
 * Copies a host's message as JSON writes it: plain, read once, so that what is checked is what is stored whatever a getter or
 * `toJSON` says the next time. `createdAt` stays a `Date` where it was one. Whether it is a message, `assertMessage` tells.
 * Errors: `INVALID_MESSAGE` for what JSON cannot write, `MESSAGE_TOO_LARGE`.
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
