import { invalid, kindOf } from "../errors.js";

/** Gives back a whole number of at least `least`; anything else is `INVALID_ARGUMENT`. */
export function wholeNumber(name: string, value: number, least = 0): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw invalid(`${name} must be a whole number of at least ${least}; got ${String(value)}.`, { name, value });
  }
  return value;
}

/** Throws `INVALID_ARGUMENT` for what is no array. */
export function assertMessages(messages: unknown, method: string): void {
  if (Array.isArray(messages)) return;
  throw invalid(`${method}() takes an array of messages; got ${kindOf(messages)}.`);
}
