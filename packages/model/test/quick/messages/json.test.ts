import { expect, it } from "vitest";
import { plainCopy } from "../../../src/lib/json.js";

it("copies arrays, plain objects, dates and bytes", () => {
  const given = {
    list: [1, undefined, { a: null }],
    at: new Date(5),
    bytes: new Uint8Array([1, 2]),
    nothing: undefined,
  };
  const copy = plainCopy(given);
  expect(copy).toStrictEqual(given);
  given.list.push(2);
  given.at.setTime(6);
  given.bytes[0] = 9;
  expect(copy).toStrictEqual({
    list: [1, undefined, { a: null }],
    at: new Date(5),
    bytes: new Uint8Array([1, 2]),
    nothing: undefined,
  });
});

it("keeps functions, and what is of a class", () => {
  class Amount {
    constructor(readonly cents: number) {}
    toJSON = () => this.cents / 100;
  }
  const { signal } = new AbortController();
  const given = { amount: new Amount(150), signal, onProgress: () => {} };
  const copy = plainCopy(given);
  expect(copy).not.toBe(given);
  for (const key of ["amount", "signal", "onProgress"] as const) expect(copy[key]).toBe(given[key]);
});

it("copies a field named __proto__, and what holds itself", () => {
  const own = JSON.parse('{"__proto__":{"a":1}}');
  expect(JSON.stringify(plainCopy(own))).toBe('{"__proto__":{"a":1}}');
  const ring: { self?: unknown; twice?: unknown } = {};
  ring.self = ring;
  ring.twice = ring;
  const copy = plainCopy(ring);
  expect(copy.self).toBe(copy);
  expect(copy.self).not.toBe(ring);
});

it("takes values that are nested however deep", () => {
  let deep: unknown = "end";
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(() => plainCopy(deep)).not.toThrow();
});
