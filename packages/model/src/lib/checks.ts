import { assertStorableText } from "../messages/storable-text.js";
import type { Check, OptionTable } from "./option-table.js";

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

/** A time in milliseconds since 1970, in a year of four digits: those that are stored compare as texts. */
export const time = shown<number>(
  "milliseconds since 1970, from the year 0 to 9999",
  (value) => typeof value === "number" && value >= FIRST_TIME && value <= LAST_TIME,
);
const FIRST_TIME = Date.parse("0000-01-01T00:00Z");
const LAST_TIME = Date.parse("9999-12-31T23:59:59.999Z");

/** A number of such units from 0 on; `Infinity` is one. */
export const amount = (units: string): Check<number> =>
  shown(`a number of ${units}, 0 or more`, (value) => typeof value === "number" && value >= 0);

/** A number above 0 of such units; `Infinity` is one. */
export const positive = (units: string): Check<number> =>
  shown(`a number of ${units} above 0`, (value) => typeof value === "number" && value > 0);
