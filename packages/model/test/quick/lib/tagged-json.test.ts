import fc from "fast-check";
import { expect, it } from "vitest";
import { anyString } from "../../../../../test/helpers/any-string.js";
import { parseTagged, stringifyAny, stringifyTagged } from "../../../src/index.js";

const special = fc.constantFrom(undefined, Number.NaN, Infinity, -Infinity, -0);
const leaf = fc.oneof(
  anyString(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  special,
  fc.date({ noInvalidDate: false }),
  fc.uint8Array(),
  fc.float32Array({ noNaN: true }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value")),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("$", "v", "__proto__")), tie("value")),
  ),
}));

/** Without fields that are undefined, which are left out. */
const told = (each: unknown): unknown => {
  if (Array.isArray(each)) return each.map(told);
  if (typeof each !== "object" || each === null || each instanceof Date || ArrayBuffer.isView(each)) return each;
  const fields = Object.entries(each).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, told(field)]));
};

it("reads back what it wrote", () => {
  fc.assert(
    fc.property(value, (each) => {
      expect(parseTagged(stringifyTagged(each))).toEqual(told(each));
      expect(parseTagged(stringifyAny(each))).toEqual(each);
    }),
  );
});

it("writes JSON as it is, and refuses or names what is no data", () => {
  const message = { id: "m", parts: [{ type: "text", text: '{"$":1}' }], createdAt: undefined };
  expect(stringifyTagged(message)).toBe(JSON.stringify(message));
  const circle: unknown[] = [];
  circle.push(circle);
  for (const no of [() => {}, Symbol("x"), 1n, circle, { toJSON: () => 1 }]) {
    expect(() => stringifyTagged([no])).toThrow(TypeError);
    expect(() => stringifyAny([no])).not.toThrow();
  }
  expect(parseTagged(stringifyAny([() => {}]))).toEqual([0n]);
  const sparse = Array.from({ length: 2 });
  expect(parseTagged(stringifyTagged(sparse))).toEqual([undefined, undefined]);
});
