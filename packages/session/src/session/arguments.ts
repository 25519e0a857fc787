import { invalid, kindOf } from "@stemma/model";

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

/** Throws `INVALID_ARGUMENT` for what cannot be called. */
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
