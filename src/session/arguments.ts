import { invalid, kindOf, quote } from "../errors.js";
import { isJsonObject } from "../model/json-object.js";

/** Throws `INVALID_ARGUMENT` unless `limit` is a whole number above 0. */
export function assertLimit(limit: unknown): void {
  if (!(Number.isInteger(limit) && (limit as number) > 0)) throw invalid("limit must be a whole number above 0.");
}

/** Throws `INVALID_ARGUMENT` for what is not a whole number. */
export function assertWhole(value: unknown, what: string): void {
  if (!Number.isSafeInteger(value)) throw invalid(`${what} must be a whole number.`);
}

/** Throws `INVALID_ARGUMENT` for what is not an array. */
export function assertList(value: unknown, rule: string): void {
  if (!Array.isArray(value)) throw invalid(value instanceof Promise ? `${rule} Got ${kindOf(value)}.` : rule);
}

/** The same for what is not an array of texts. */
export function assertTexts(value: unknown, rule: string): void {
  assertList(value, rule);
  if (!(value as unknown[]).every((text) => typeof text === "string")) throw invalid(rule);
}

/** The same for what is not a text. `what` begins the sentence that says so. */
export function assertText(value: unknown, what: string): asserts value is string {
  if (typeof value !== "string") throw invalid(`${what} must be a text; got ${kindOf(value)}.`);
}

/** The same for what names no message: a text, or null or nothing where `what` says what these stand for. */
export function assertOptionalId(value: unknown, what: string): void {
  if (value === undefined || value === null || typeof value === "string") return;
  throw invalid(`${what}; got ${kindOf(value)}.`);
}

/** The same for options that are no object. */
export function assertOptions(value: unknown, method: string): void {
  if (isJsonObject(value)) return;
  throw invalid(`The options of ${method} are an object; got ${kindOf(value)}.`);
}

/** The names of the options that `Options` has, all of them. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** The same, and for an option of another name: one that is misspelt would confine nothing. */
export function assertKnownOptions(value: unknown, method: string, names: Readonly<Record<string, true>>): void {
  assertOptions(value, method);
  const unknown = Object.keys(value as object).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const known = Object.keys(names).join(", ");
  throw invalid(`The options of ${method} are ${known}; ${quote(unknown)} is none of them.`, { option: unknown });
}

/** The same for what cannot be called. */
export function assertFunction(value: unknown, what: string): void {
  if (typeof value !== "function") throw invalid(`${what} must be a function; got ${kindOf(value)}.`);
}

/** The same for options of these names that cannot be called; they may be missing. */
export function assertFunctions<Options extends object>(options: Options, names: readonly (keyof Options & string)[]) {
  for (const name of names) if (options[name] !== undefined) assertFunction(options[name], name);
}

/** The same for what is none of the values. */
export function assertOneOf(value: unknown, values: readonly unknown[], what: string): void {
  if (!values.includes(value)) throw invalid(`${what} is ${values.filter((each) => each !== undefined).join(" or ")}.`);
}
