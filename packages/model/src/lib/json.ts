/** Deeper values stay themselves, or are left to JSON, which tells what is wrong with them. */
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

/** The JSON array in what a model answered, which may stand between fences or words; null where there is none. */
export function findJsonArray(answer: string): unknown[] | null {
  const end = answer.lastIndexOf("]");
  let tries = 0;
  for (let start = answer.indexOf("["); start >= 0 && start < end; start = answer.indexOf("[", start + 1)) {
    const value = findJson(answer.slice(start, end + 1));
    // Otherwise it may begin further on.
    if (Array.isArray(value)) return value;
    tries += 1;
    if (tries === MAX_TRIES) break;
  }
  return null;
}

/** How many brackets may stand before the array: from each the rest of the answer is read. */
const MAX_TRIES = 50;

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

/**
 * Copies a field `key` of some object as `JSON.parse(JSON.stringify(value))` does, in half the time: undefined for what JSON
 * leaves out. Each field is read once. Throws what `JSON.stringify` throws.
 */
export function jsonCopy(value: unknown, key: string): unknown {
  return copyJson(value, key, MAX_LEVELS);
}

function copyJson(value: unknown, key: string | number, levels: number): unknown {
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
  for (let index = 0; index < length; index += 1) copy.push(copyJson(values[index], index, levels - 1) ?? null);
  return copy;
}

function copyObject(value: object, levels: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    setField(copy, key, copyJson((value as Record<string, unknown>)[key], key, levels - 1));
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
