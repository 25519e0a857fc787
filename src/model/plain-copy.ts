/** What is deeper stays itself. */
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
