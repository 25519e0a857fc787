/** Deeper values are not copied. */
const MAX_LEVELS = 100;

/**
 * A copy of arrays, plain objects, dates and bytes, for what is read later than it was given. Whatever else is in them stays
 * itself: functions, signals, and what is of a class, which may say what JSON is to make of it.
 */
export function plainCopy<T>(value: T): T {
  return copyOf(value, new Map(), MAX_LEVELS) as T;
}

function copyOf(value: unknown, copies: Map<object, unknown>, levels: number): unknown {
  if (typeof value !== "object" || value === null || levels === 0) return value;
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return value.slice();
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Array.prototype && prototype !== Object.prototype) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const copy = Array.isArray(value) ? new Array(value.length) : {};
  copies.set(value, copy);
  for (const [key, field] of Object.entries(value)) {
    const copied = copyOf(field, copies, levels - 1);
    // Whatever its name.
    Object.defineProperty(copy, key, { value: copied, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}

/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** True for an object that is no array, and no promise of one. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** Deeper values overflow the stack of some function that reads them, here or in an engine. */
export const MAX_DEPTH = 1000;

/** True for a value that is nested deeper than a message may be. */
export function isTooDeep(value: unknown): boolean {
  return isDeeper(value, MAX_DEPTH);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

/** Tells it of a value that a text says in JSON: each level takes two characters at least. */
export function isTextTooDeep(text: string, value: unknown): boolean {
  return text.length > 2 * MAX_DEPTH && isTooDeep(value);
}

/** The value that a JSON text says; undefined for any other text, and for one that is nested too deep. */
export function findJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isTextTooDeep(text, value) ? undefined : value;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The object that a JSON text says; null for any other text. */
export function findJsonObject(text: string): JsonObject | null {
  const value = findJson(text);
  return isJsonObject(value) ? value : null;
}

/** A value as a record keeps it: its JSON in UTF-8. */
export function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Reads what `encodeJson` wrote. Throws what `JSON.parse` throws. */
export function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** True when two values are written as the same JSON, whatever the order of their fields. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Date || b instanceof Date)
    return a instanceof Date && b instanceof Date && a.getTime() === b.getTime();
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null)
    return Number.isNaN(a) && Number.isNaN(b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = entries(a);
  const right = new Map(entries(b));
  return left.length === right.size && left.every(([key, value]) => right.has(key) && sameJson(value, right.get(key)));
}

function entries(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, field]) => field !== undefined);
}
