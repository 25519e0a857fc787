import { StemmaError } from "../errors.js";

/** Gives back a whole number of at least `least`; anything else is `INVALID_ARGUMENT`. */
export function wholeNumber(name: string, value: number, least = 0): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new StemmaError(
      "INVALID_ARGUMENT",
      { name, value },
      `${name} must be a whole number of at least ${least}; got ${String(value)}.`,
    );
  }
  return value;
}
