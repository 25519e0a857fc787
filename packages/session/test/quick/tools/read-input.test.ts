import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FieldSchema, objectSchema, readInput, toolSchema } from "../../../src/tools/tool.js";

const SCHEMA = objectSchema(
  {
    text: { type: "string", description: "What to say." },
    words: { type: "string", minLength: 1, maxLength: 5 },
    kind: { type: "string", enum: ["a", "b"] },
    count: { type: "integer", minimum: 1, maximum: 50 },
    share: { type: "number" },
    all: { type: "boolean" },
    list: { type: "array", maxItems: 2, items: { type: "integer" } },
    more: objectSchema({ title: { type: "string" }, size: { type: "number" } }),
  },
  ["text"],
);
const OPTIONAL = Object.keys(SCHEMA.properties).filter((name) => name !== "text");

function readOf(given: unknown) {
  const reading = readInput(SCHEMA, given);
  if ("problem" in reading) throw new Error(reading.problem);
  return reading.value;
}

function problemOf(given: unknown): string {
  const reading = readInput(SCHEMA, given);
  return "problem" in reading ? reading.problem : "none";
}

describe("what a tool reads", () => {
  it("is one of a few names in any case", () => {
    expect(readOf({ text: "x", kind: " B " })).toEqual({ text: "x", kind: "b" });
  });

  it("is what was sent, where that fits", () => {
    const given = {
      text: "x",
      words: "abc",
      kind: "b",
      count: 2,
      share: 0.5,
      all: false,
      list: [1, 2],
      more: { title: "t", size: 1 },
    };
    expect(readOf(given)).toEqual(given);
  });

  it.each([null, undefined, "", "  ", "null"])("takes %j of an optional argument for absence", (absent) => {
    for (const name of OPTIONAL) expect(readOf({ text: "x", [name]: absent }), name).toEqual({ text: "x" });
    expect(readOf({ text: "x", more: { title: absent, size: absent } })).toEqual({ text: "x", more: {} });
  });

  it("keeps what a required text says, also nothing and the word null", () => {
    for (const text of ["", " ", "null", "5", '{"a":1}']) expect(readOf({ text })).toEqual({ text });
  });

  it("takes what is written in a text for what it says", () => {
    const given = { text: "x", count: "7", share: " -1.5 ", all: "TRUE", list: '["1", 2]', more: '{"size":"3"}' };
    expect(readOf(given)).toEqual({ text: "x", count: 7, share: -1.5, all: true, list: [1, 2], more: { size: 3 } });
    expect(readOf('{"text":"x"}')).toEqual({ text: "x" });
  });

  it("takes a number or a boolean for its text, where a text is wanted", () => {
    expect(readOf({ text: 42, words: true })).toEqual({ text: "42", words: "true" });
  });

  it("takes no argument that there is not, unless it says nothing", () => {
    const absent = { text: "x", other: null, more: { title: "t", colour: "", size_: undefined } };
    expect(readOf(absent)).toEqual({ text: "x", more: { title: "t" } });
    expect(problemOf({ text: "x", other: 1, more: { title: "t", colour: "red" } })).toBe(
      "more takes no colour: its fields are title, size; the input takes no other: its fields are text, words, kind, count, share, all, list, more.",
    );
    // Of those that stand in a text, too, and of names that every object has.
    expect(problemOf({ text: "x", more: '{"Title":"t"}' })).toContain("more takes no Title");
    expect(problemOf(JSON.parse('{"text":"x","__proto__":{"a":1},"constructor":1}'))).toContain(
      "takes no __proto__, constructor:",
    );
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${at} · ${"y".repeat(9999)}`, 1]));
    expect(problemOf({ text: "x", ...many }).length).toBeLessThan(1000);
  });

  it("takes a blank text for none, where it may not be empty", () => {
    expect(problemOf({ text: "x", words: " \n" })).toBe("none");
    const needed = objectSchema({ query: { type: "string", minLength: 1 } }, ["query"]);
    expect(readInput(needed, { query: " \n" })).toEqual({
      problem: 'query must be a text that is not empty, not " \\n".',
    });
  });

  it("says what to send in place of what is missing or does not fit, all at once", () => {
    for (const given of [null, undefined, "", {}, { text: null }]) {
      expect(problemOf(given)).toBe("text is missing: send a text (What to say).");
    }
    expect(problemOf({ kind: "c", count: "0" })).toBe(
      'text is missing: send a text (What to say); kind must be one of a, b, not "c"; count must be a whole number from 1 to 50, not "0".',
    );
    for (const [name, value, wanted] of [
      ["words", "abcdef", "a text of 1 to 5 characters"],
      ["words", {}, "a text"],
      ["count", 2.5, "a whole number from 1 to 50"],
      ["count", "many", "a whole number"],
      ["share", "Infinity", "a number"],
      ["share", [], "a number"],
      ["all", "yes", "true or false"],
      ["all", 1, "true or false"],
      ["list", [1, 2, 3], "a list of up to 2"],
      ["list", "1", "a list of up to 2"],
      ["more", "title", "an object with title, size"],
      ["more", [], "an object with title, size"],
    ] as const) {
      expect(problemOf({ text: "x", [name]: value })).toContain(`${name} must be ${wanted}`);
    }
    expect(problemOf({ text: "x", list: [1, "b"] })).toContain("list[1] must be a whole number");
    expect(problemOf({ text: "x", more: { size: {} } })).toContain("more.size must be a number");
    expect(problemOf([])).toContain("the input must be an object with text");
  });

  it("never throws, is short in what it repeats, and reads its own readings the same", () => {
    const value = fc.oneof(fc.jsonValue(), fc.string(), fc.constantFrom("null", "true", "1", "", undefined));
    const input = fc.oneof(value, fc.record(Object.fromEntries(Object.keys(SCHEMA.properties).map((k) => [k, value]))));
    fc.assert(
      fc.property(input, (given) => {
        const reading = readInput(SCHEMA, given);
        if ("problem" in reading) expect(reading.problem.length).toBeLessThan(5000);
        else expect(readOf(reading.value)).toEqual(reading.value);
      }),
    );
    expect(problemOf({ text: "x", count: "9".repeat(100_000) }).length).toBeLessThan(200);
  });
});

it("gives frameworks a copy of the JSON Schema each time, and a value that they pass on", () => {
  const { "~standard": standard } = toolSchema(SCHEMA, (given) => readInput(SCHEMA, given));
  const shown = standard.jsonSchema.input({ target: "draft-07" }) as { properties: Record<string, FieldSchema> };
  expect(shown).toEqual(SCHEMA);
  shown.properties = {};
  expect(standard.jsonSchema.input()).toEqual(SCHEMA);
  expect(standard.validate({ text: "x", count: "2", all: null })).toEqual({ value: { text: "x", count: 2 } });
  // The tool itself says what is wrong, in every framework in the same words.
  expect(standard.validate({ count: "2" })).toEqual({ value: { count: "2" } });
});
