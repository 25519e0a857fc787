import { expect, it } from "vitest";
import { sendable, sendableText } from "../../../src/messages/storable-text.js";

it("puts U+FFFD for halves of surrogate pairs and for NUL, and leaves whole characters", () => {
  expect(sendableText("a\ud83c b\udf50 \0 🍐")).toBe("a\ufffd b\ufffd \ufffd 🍐");
});

it("mends the texts and the keys of a value, however deep", () => {
  const value = { a: [{ "k\ud800": "x\udc00", n: 1, none: null, made: new Date(0) }], b: "whole" };
  expect(sendable(value)).toEqual({ a: [{ "k\ufffd": "x\ufffd", n: 1, none: null, made: new Date(0) }], b: "whole" });
  expect(value.a[0]).toHaveProperty("k\ud800");
});

it("keeps every key where two become alike", () => {
  expect(sendable({ "\ud800": 1, "\ud801": 2, "\ufffd": 3 })).toEqual({
    "\ufffd\ufffd": 1,
    "\ufffd\ufffd2": 2,
    "\ufffd": 3,
  });
  expect(Object.keys(sendable(JSON.parse('{"__proto__":"\\ud800"}')))).toEqual(["__proto__"]);
});

it("gives back what needs nothing as the same value", () => {
  const value = { list: ["🍐", { deep: Number.NaN }], bytes: new Uint8Array(2) };
  expect(sendable(value)).toBe(value);
});

it("takes time that grows as the keys do, where all become alike", () => {
  const keys = Array.from({ length: 2000 }, (_, index) => [String.fromCharCode(0xd800 + (index % 2048)), index]);
  expect(Object.keys(sendable(Object.fromEntries(keys))).every((key) => key.length < 8)).toBe(true);
});
