import { invalid, kindOf, quote } from "./errors.js";
import { isJsonObject } from "./model/json-object.js";

/** The names of the options that `Options` has, all of them. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Throws `INVALID_ARGUMENT` for options that are no object. */
export function assertOptions(value: unknown, method: string): void {
  if (isJsonObject(value)) return;
  throw invalid(`The options of ${method} are an object; got ${kindOf(value)}.`);
}

/** The same, and for an option of another name: one that is misspelt would confine nothing. */
export function assertKnownOptions(value: unknown, method: string, names: Readonly<Record<string, true>>): void {
  assertOptions(value, method);
  const unknown = Object.keys(value as object).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names).join(", ");
  throw invalid(`The options of ${method} are ${known}; ${quote(unknown)} is none of them.`, { option: unknown });
}
