import fc from "fast-check";
import { anyString } from "../helpers/any-string.js";

/** Texts that some code may take for none, for another value, for the end of the text or for a piece of a language. */
export const TEXTS: readonly string[] = [
  ...["", " ", "\t", "\n", "\r\n", "0", "-0", "1e21", "NaN", "null", "undefined", "false", "[]", "{}", '""'],
  ...["__proto__", "constructor", "toString", "prompt", "compaction_", "stemma:", "agents_before_upgrade", "unnamed"],
  ...["a/b", "a\\b", "..", "%", "_", "*", "?", "$1", "'", '"', "`", ";--", "🙂", "👩‍👩‍👧‍👦", "\u{10ffff}"],
  ...["\u0000", "a\u0000b", "\ud800", "\udfff", "a\udc00b", "\udc00\ud800", "\ufffd", "\ufeff", "\ufffe", "\uffff"],
  ...[
    "é",
    "e\u0301",
    "\u0301",
    "Ａ",
    "ﬁ",
    "İ",
    "ß",
    "שלום",
    "\u202eabc\u202c",
    "\u200b",
    "\u2028",
    "\u0001",
    "\u007f",
    "\u0085",
  ],
];

const NUMBERS: readonly number[] = [
  ...[0, -0, 1, -1, 0.1, 0.1 + 0.2, 1e15, 1e21, -1e21, 1e300, Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 31, 2 ** 53],
  ...[Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
];

const TIMES: readonly string[] = [
  ...["0001-01-01T00:00:00.000Z", "0099-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"],
  ...["2026-02-28T12:00:00.001Z", "9999-12-31T23:59:59.999Z"],
];

const DATES: readonly number[] = [...TIMES.map((time) => Date.parse(time)), 8.64e15, -8.64e15, Number.NaN];

const constants = <T>(values: readonly T[]) => fc.constantFrom(...values);

export const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: constants(TEXTS) },
  { weight: 2, arbitrary: anyString({ maxLength: 20 }) },
  // Halves of surrogate pairs at any place.
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  },
);

/** Texts of a column that has no index, which may be as long as anybody likes. */
export const contents: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: texts },
  { weight: 1, arbitrary: texts.map((text) => `${text}${"long é🙂 ".repeat(2000)}${text}`) },
);

export const numbers: fc.Arbitrary<number> = fc.oneof(constants(NUMBERS), fc.double());
export const times: fc.Arbitrary<string> = constants(TIMES);
export const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  constants([0, 1, 255, 100_000]).map((length) => Uint8Array.from({ length }, (_, index) => index)),
  fc.uint8Array({ maxLength: 8 }),
);

/** Whatever JSON writes, and what it leaves out. */
export const values: fc.Arbitrary<unknown> = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(texts, numbers, fc.constantFrom(null, true, false, undefined)),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.array(fc.tuple(texts, tie("any")), { maxLength: 3 }).map((fields) => objectOf(fields)),
  ),
})).any;

/** An object with these fields, `__proto__` among its own too. */
function objectOf(fields: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [key, value] of fields) {
    Object.defineProperty(made, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return made;
}

export const createdAt: fc.Arbitrary<unknown> = fc.oneof(
  constants(DATES).map((time) => new Date(time)),
  times,
  texts,
  numbers,
  fc.constantFrom(undefined, null),
);

const parts: fc.Arbitrary<unknown> = fc.oneof(
  contents.map((text) => ({ type: "text", text })),
  fc.record({ type: fc.constantFrom("text", "reasoning"), text: texts, state: texts, providerMetadata: values }),
  texts.map((type) => ({ type })),
  fc.record({ type: fc.constant("file"), mediaType: texts, filename: texts, url: fc.oneof(texts, dataUrls()) }),
  fc.record(
    {
      type: fc.oneof(
        texts.map((name) => `tool-${name}`),
        fc.constant("dynamic-tool"),
      ),
      toolName: texts,
      toolCallId: texts,
      state: fc.constantFrom("input-streaming", "input-available", "output-available", "output-error", ""),
      input: values,
      output: values,
      errorText: texts,
    },
    { requiredKeys: ["type", "toolCallId"] },
  ),
  fc.record({ type: fc.constant("source-url"), sourceId: texts, url: texts, title: texts }),
  fc.record({ type: texts.map((name) => `data-${name}`), id: texts, data: values }),
);

// The longer ones are kept outside of their message's row.
function dataUrls(): fc.Arbitrary<string> {
  return fc.constantFrom(
    "data:,",
    "data:;base64,",
    `data:image/png;base64,${"AAAA".repeat(2000)}`,
    `data:,${"é%00".repeat(2000)}`,
  );
}

/** What some host may hand over as a message with this id. */
export function messageWith(id: fc.Arbitrary<string>): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    {
      id,
      role: fc.oneof(fc.constantFrom("user", "assistant", "system"), texts),
      parts: fc.array(parts, { maxLength: 3 }),
      metadata: values,
      createdAt,
    },
    { requiredKeys: ["id", "role", "parts"] },
  );
}
