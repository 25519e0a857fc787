import { invalid, kindOf, quote, shorten } from "../errors.js";
import { isJsonObject } from "./json.js";

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
  if (isJsonObject(value) && !(value instanceof Date)) return;
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
