import { kindOf, quote, StemmaError, shorten } from "../errors.js";
import { isJsonObject } from "../lib/json.js";
import { invalidMessage, type SessionMessage } from "./message.js";

// What was read of the objects that `givenMessage` made, until it is taken.
const serialised = new WeakMap<object, string>();

/**
 * What a host gave, as JSON writes it: a plain copy, read once, so that what is checked is what is stored whatever a getter or
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

/** Deeper values are left to JSON itself, which tells what is wrong with them. */
const MAX_LEVELS = 100;

/**
 * What `JSON.parse(JSON.stringify(value))` gives of a field `key` of some object, in half the time: undefined for what JSON
 * leaves out. Each field is read once. Throws what `JSON.stringify` throws.
 */
export function jsonCopy(value: unknown, key: string): unknown {
  return copyOf(value, key, MAX_LEVELS);
}

function copyOf(value: unknown, key: string | number, levels: number): unknown {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  // JSON has no -0.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === "object" && levels > 0) {
    if (Array.isArray(value)) return isPlain(value, Array.prototype) ? copyArray(value, levels) : byJson(value, key);
    if (isPlain(value, Object.prototype)) return copyObject(value, levels);
  }
  // A function of this name would be called for the whole object.
  const isLeftOut = value === undefined || (typeof value === "function" && key === "toJSON");
  return isLeftOut ? undefined : byJson(value, key);
}

// What is of a class may say what JSON is to make of it.
function isPlain(value: object, prototype: object): boolean {
  return Object.getPrototypeOf(value) === prototype && typeof (value as { toJSON?: unknown }).toJSON !== "function";
}

function copyArray(values: readonly unknown[], levels: number): unknown[] {
  const { length } = values;
  const copy: unknown[] = [];
  for (let index = 0; index < length; index += 1) copy.push(copyOf(values[index], index, levels - 1) ?? null);
  return copy;
}

function copyObject(value: object, levels: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    setField(copy, key, copyOf((value as Record<string, unknown>)[key], key, levels - 1));
  }
  return copy;
}

/** Gives an object a field of its own, whatever its name; none where the value is undefined. */
export function setField(target: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) return;
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

// In an object of its own, so that `toJSON` is told the key.
function byJson(value: unknown, key: string | number): unknown {
  const made = JSON.parse(JSON.stringify({ [key]: value })) as Record<string | number, unknown>;
  return Object.hasOwn(made, key) ? made[key] : undefined;
}
