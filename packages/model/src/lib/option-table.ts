import { invalid, kindOf, quote, shorten } from "../errors.js";
import { assertStorableText, FIRST_TIME } from "../messages/storable-text.js";

// What options and arguments may be, and what refuses others.

/**
 * Says what a value must be when it is something else ("a text"), or throws an error of its own; otherwise it gives nothing.
 * `name` is what the option is called. It takes what the type of an option allows, so an option that it would refuse does not compile.
 */
export interface Check<Value> {
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that throws gives nothing.
  (value: Value, name: string): string | undefined | void;
  /** The option may not be missing. */
  readonly isRequired?: true;
  /** A text that it refuses is no secret: the error says how it begins. */
  readonly isShown?: true;
}

/** A check for each option that there is. */
export type Checks<Options> = { readonly [Name in keyof Options]-?: Check<Exclude<Options[Name], undefined>> };

/** The options of a function, or the fields of an argument: their names, and what each must be. */
export class OptionTable<Options extends object> {
  constructor(
    readonly checks: Checks<Options>,
    private readonly noun: "options" | "fields" = "options",
  ) {}

  /** Throws `INVALID_ARGUMENT` for what is no such options; `owner` is what has them: "sqlite()". */
  assert(options: unknown, owner: string): void {
    this.assertNames(options, owner);
    for (const [name, check] of Object.entries<Check<never>>(this.checks)) {
      const value = (options as Record<string, unknown>)[name];
      if (value !== undefined || check.isRequired) assertArgument(check, value, `The ${name} of ${owner}`, name);
    }
  }

  /** Throws `INVALID_ARGUMENT` for an option of another name: one that is misspelt would confine nothing. */
  assertNames(options: unknown, owner: string): void {
    assertOptions(options, owner, this.noun);
    const unknown = Object.keys(options).find((name) => !Object.hasOwn(this.checks, name));
    if (unknown === undefined) return;
    const known = Object.keys(this.checks).join(", ");
    const message = `The ${this.noun} of ${owner} are ${known || "none yet"}; ${quote(shorten(unknown))} is none of them.`;
    throw invalid(message, { option: unknown });
  }
}

/** Characters of a text that is shown. */
const MOST_SHOWN = 40;

/** A table of options: a name that `Options` lacks, or has beside these, does not compile. */
export function defineOptions<Options extends object>(checks: Checks<Options>): OptionTable<Options> {
  return new OptionTable(checks);
}

/** As `defineOptions`, for the fields of an argument that is no options. */
export function defineFields<Fields extends object>(checks: Checks<Fields>): OptionTable<Fields> {
  return new OptionTable(checks, "fields");
}

/** Throws `INVALID_ARGUMENT` for options, or what else has such a noun, that are no object. */
export function assertOptions(
  value: unknown,
  owner: string,
  noun = "options",
): asserts value is Record<string, unknown> {
  const isOfClass = value instanceof Date || value instanceof Promise;
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !isOfClass) return;
  throw invalid(`The ${noun} of ${owner} are an object; got ${kindOf(value)}.`);
}

/**
 * Throws `INVALID_ARGUMENT` for what the check refuses. `what` begins the sentence that says so; `option` is the name of an option.
 * A text is not repeated, unless the check says so: it may be a secret.
 */
export function assertArgument<Value>(
  check: Check<Value>,
  value: unknown,
  what: string,
  option?: string,
): asserts value is Value {
  const wanted = check(value as Value, option ?? what);
  if (typeof wanted !== "string") return;
  const isShown = typeof value === "string" && check.isShown === true;
  const got = isShown ? quote(shorten(value, MOST_SHOWN)) : typeof value === "number" ? value : kindOf(value);
  throw invalid(`${what} must be ${wanted}; got ${got}.`, option === undefined ? {} : { option });
}

/** Throws `INVALID_ARGUMENT` for what is not a text. `what` begins the sentence that says so. */
export function assertText(value: unknown, what: string): asserts value is string {
  assertArgument(text, value, what);
}

/** Throws `INVALID_ARGUMENT` for what cannot be called. `what` begins the sentence that says so. */
export function assertFunction(value: unknown, what: string): void {
  assertArgument(callable, value, what);
}

// What an option can be. Everything that takes options imports these as `check`.

/** A check by what it wants, as the sentence says it, and whether a value is that. */
export function rule<Value>(wanted: string, holds: (value: Value) => boolean): Check<Value> {
  return (value) => (holds(value) ? undefined : wanted);
}

/** As `rule`, of values that are no secrets. */
function shown<Value>(wanted: string, holds: (value: Value) => boolean): Check<Value> {
  return Object.assign(rule(wanted, holds), { isShown: true as const });
}

/** The option may not be missing. */
export function required<Value>(check: Check<Value>): Check<Value> {
  return Object.assign((value: Value, name: string) => check(value, name), { ...check, isRequired: true as const });
}

/** Null, or what the check takes. */
export function orNull<Value>(check: Check<Value>): Check<Value | null> {
  return Object.assign((value: Value | null, name: string) => (value === null ? undefined : check(value, name)), {
    ...check,
  });
}

/** Options within options. */
export function nested<Options extends object>(table: OptionTable<Options>): Check<Options> {
  return (value, name) => table.assert(value, name);
}

/** Whatever the function that uses it checks. */
export const anything: Check<unknown> = () => undefined;

export const text = rule<string>("a text", (value) => typeof value === "string");

/** A text that a database can keep. Another one is `INVALID_TEXT`. */
export const storable: Check<string> = (value, name) =>
  typeof value === "string" ? assertStorableText(value, name) : "a text";

export const flag = shown<boolean>("true or false", (value) => typeof value === "boolean");

export const callable = rule<(...values: never[]) => unknown>("a function", (value) => typeof value === "function");

export const signal = rule<AbortSignal>("an AbortSignal", (value) => typeof value?.throwIfAborted === "function");

export const age = shown<number | Date>(
  "an age in milliseconds, or a Date",
  (value) =>
    (value instanceof Date || typeof value === "number") &&
    !Number.isNaN(new Date(Date.now() - Number(value)).getTime()),
);

/** An object that has these methods. */
export const having = (...methods: readonly string[]): Check<object> =>
  rule(`an object with ${methods.map((name) => `${name}()`).join(" and ")}`, (value) =>
    methods.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === "function"),
  );

export const list = (of: string) => rule<readonly unknown[]>(`an array of ${of}`, Array.isArray);

export const texts = (of: string) =>
  rule<readonly string[]>(
    `an array of ${of}`,
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  );

export const oneOf = <const Value>(...values: readonly Value[]): Check<Value> =>
  shown(values.map((value) => JSON.stringify(value)).join(" or "), (value) => values.includes(value));

export const whole = (least: number, most = Number.MAX_SAFE_INTEGER): Check<number> =>
  shown(
    `a whole number from ${least} ${most === Number.MAX_SAFE_INTEGER ? "on" : `to ${most}`}`,
    (value) => Number.isSafeInteger(value) && value >= least && value <= most,
  );

export const finite = shown<number>("a finite number", Number.isFinite);

/** The id of a message; null, or nothing, is what `standsFor` says. */
export const messageId = (standsFor: string): Check<string | null | undefined> =>
  rule(`the id of a message, or null for ${standsFor}`, (value) => value == null || typeof value === "string");

/** A time in milliseconds since 1970, in a year that each database has. */
export const time = shown<number>(
  "milliseconds since 1970, from the year 1 to 9999",
  (value) => typeof value === "number" && value >= FIRST && value <= LAST,
);
const FIRST = Date.parse(FIRST_TIME);
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/** A number of such units from 0 on; `Infinity` is one. */
export const amount = (units: string): Check<number> =>
  shown(`a number of ${units}, 0 or more`, (value) => typeof value === "number" && value >= 0);

/** A number above 0 of such units; `Infinity` is one. */
export const positive = (units: string): Check<number> =>
  shown(`a number of ${units} above 0`, (value) => typeof value === "number" && value > 0);
