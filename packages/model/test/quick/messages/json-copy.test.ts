import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyString } from "../../../../../test/helpers/any-string.js";
import { jsonCopy } from "../../../src/lib/json.js";

const byJson = (value: unknown, key: string): unknown => {
  const made = JSON.parse(JSON.stringify({ [key]: value })) as Record<string, unknown>;
  return Object.hasOwn(made, key) ? made[key] : undefined;
};

describe("jsonCopy", () => {
  it("gives what JSON makes of any value, and JSON writes it the same", () => {
    const leaf = fc.oneof(
      anyString(),
      fc.double(),
      fc.constantFrom(
        undefined,
        null,
        true,
        () => 1,
        Symbol("s"),
        new Date(0),
        new Date(Number.NaN),
        Object("boxed"),
        -0,
      ),
      fc.constant(new Map([[1, 2]])),
      fc.constant({ toJSON: (key: string) => ({ key, at: new Date(1) }) }),
      fc.constant(Object.assign([1, 2], { toJSON: () => "array" })),
    );
    const name = fc.oneof(fc.string(), fc.constantFrom("__proto__", "7", "constructor"));
    const key = fc.oneof(name, fc.constant("toJSON"));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(leaf, fc.array(tie("value")), fc.dictionary(key, tie("value"), { noNullPrototype: false })),
    }));
    fc.assert(
      fc.property(value, name, (given, name) => {
        const copy = jsonCopy(given, name);
        expect(copy).toEqual(byJson(given, name));
        expect(JSON.stringify({ [name]: copy })).toBe(JSON.stringify({ [name]: given }));
      }),
      { numRuns: 1000 },
    );
  });

  it("shares nothing that can change with what it is of", () => {
    const given = { list: [{ deep: { a: 1 } }] };
    const copy = jsonCopy(given, "") as typeof given;
    (given.list[0] as { deep: { a: number } }).deep.a = 2;
    expect(copy).toEqual({ list: [{ deep: { a: 1 } }] });
  });

  it("keeps a field called __proto__ as a field", () => {
    const copy = jsonCopy(JSON.parse('{"__proto__":{"polluted":true}}'), "") as Record<string, unknown>;
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect(copy.polluted).toBeUndefined();
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it("reads each field once", () => {
    const reads: string[] = [];
    const given = {
      get a() {
        reads.push("a");
        return [new Date(0)];
      },
      b: {
        get c() {
          reads.push("c");
          return new Map();
        },
      },
    };
    expect(jsonCopy(given, "")).toEqual({ a: ["1970-01-01T00:00:00.000Z"], b: { c: {} } });
    expect(reads).toEqual(["a", "c"]);
  });

  it("copies what is deep, and refuses what holds itself or a bigint", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 2000; level += 1) deep = [deep];
    expect(JSON.stringify(jsonCopy(deep, ""))).toBe(JSON.stringify(deep));
    const circular: Record<string, unknown> = {};
    circular.one = circular;
    circular.two = [circular];
    expect(() => jsonCopy(circular, "")).toThrow(TypeError);
    expect(() => jsonCopy({ a: 1n }, "")).toThrow(TypeError);
  });
});
