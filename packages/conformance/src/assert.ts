import { StemmaError } from "@stemma/model";

/** The error of a case: what it found beside what it should have found. Runners show `actual` and `expected` as a difference. */
export class ConformanceError extends Error {
  override readonly name = "ConformanceError";

  constructor(
    message: string,
    readonly actual: unknown,
    readonly expected: unknown,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Assertions that run wherever a store runs: no test framework, no runtime, is assumed. */
export function expect<T>(actual: T): Expectation<T> {
  const check = (holds: boolean, verb: string, expected: unknown): void => {
    if (!holds) throw new ConformanceError(`expected ${show(actual)} ${verb} ${show(expected)}`, actual, expected);
  };
  return {
    toBe: (expected) => check(Object.is(actual, expected), "to be", expected),
    toEqual: (expected) => check(isEqual(actual, expected), "to equal", expected),
    toInclude: (expected) => {
      const within = typeof actual === "string" ? actual.includes(String(expected)) : includes(actual, expected);
      check(within, "to include", expected);
    },
    toExclude: (unexpected) => {
      const within = typeof actual === "string" ? actual.includes(String(unexpected)) : includes(actual, unexpected);
      check(!within, "not to include", unexpected);
    },
    toBeAtMost: (limit) => check(Number(actual) <= limit, "to be at most", limit),
    toBeAtLeast: (limit) => check(Number(actual) >= limit, "to be at least", limit),
  };
}

export interface Expectation<T> {
  toBe(expected: T): void;
  /** Deep equality: same keys, same order in arrays, dates by their time. */
  toEqual(expected: unknown): void;
  /** Of a text or an array. */
  toInclude(expected: unknown): void;
  toExclude(unexpected: unknown): void;
  toBeAtMost(limit: number): void;
  toBeAtLeast(limit: number): void;
}

/** Resolves to the `StemmaError` that `call` fails with; fails when it succeeds, or fails with another code. */
export async function expectError(call: Promise<unknown> | (() => unknown), code: string): Promise<StemmaError> {
  const error = await failureOf(call);
  if (error === undefined) throw new ConformanceError(`expected ${code}, but the call succeeded`, undefined, code);
  if (StemmaError.isInstance(error) && error.code === code) return error;
  const actual = StemmaError.isInstance(error) ? error.code : String(error);
  throw new ConformanceError(`expected ${code}, but the call failed with ${actual}`, actual, code, { cause: error });
}

/** The error that a call failed with; undefined when it succeeded. */
export async function failureOf(call: Promise<unknown> | (() => unknown)): Promise<unknown> {
  try {
    await (typeof call === "function" ? call() : call);
    return undefined;
  } catch (error) {
    return error ?? new ConformanceError("the call failed with nothing", error, "an error");
  }
}

function includes(list: unknown, expected: unknown): boolean {
  return Array.isArray(list) && list.some((item) => isEqual(item, expected));
}

type Parts = Readonly<Record<string, unknown>>;

/** Compares the fields that are wanted, of an object or of each object of a list. */
export function expectParts(found: unknown, wanted: Parts | readonly Parts[]): void {
  const parts = (from: unknown, of: Parts) =>
    Object.fromEntries(Object.keys(of).map((key) => [key, (from as Parts)[key]]));
  const [all, of] = Array.isArray(wanted)
    ? [found as unknown[], wanted as readonly Parts[]]
    : [[found], [wanted as Parts]];
  expect(all.map((each, index) => parts(each, of[index] ?? { key: 0 }))).toEqual(of);
}

/** Deep equality of what JSON and dates can say. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Date || b instanceof Date) {
    return a instanceof Date && b instanceof Date && a.getTime() === b.getTime();
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) => Object.hasOwn(b, key) && isEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

const MAX_SHOWN = 400;

function show(value: unknown): string {
  const text = typeof value === "function" || value === undefined ? String(value) : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)` : text;
}
