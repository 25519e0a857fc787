import { expect, it } from "vitest";
import type { SessionMessagePart } from "../../../src/index.js";
import { documentOf, searchedText } from "../../../src/index.js";

const text: SessionMessagePart = { type: "text", text: "Done." };
const call = (input: unknown, output?: unknown) =>
  ({ type: "tool-run", toolCallId: "c", state: "output-available", input, output }) as SessionMessagePart;
const searched = (...parts: SessionMessagePart[]) => searchedText({ id: "a", role: "assistant", parts }, true);

it("puts the tool calls below the text, and leaves them out where they are not searched", () => {
  const message = { id: "a", role: "assistant", parts: [call({ city: "Lisbon" }), text] };
  expect(searchedText(message, true)).toBe("Done.\ncity: Lisbon");
  expect(searchedText(message, false)).toBe("Done.");
  const named = { ...message, metadata: { name: "Ada" }, createdAt: "2026-01-02T00:00:00.000Z" };
  expect(documentOf(named, true)).toBe("Ada 2 January 2026 2026-01-02\nDone.\ncity: Lisbon");
  expect(documentOf({ ...named, parts: [call("x")] }, false)).toBe("");
});

it.each([
  [
    "texts, numbers and names of fields",
    { a: [1, "two", { b: "three" }], c: { d: 4.5 } },
    "a: 1\ntwo\nb: three\nc: d: 4.5",
  ],
  ["no truth values and nulls", { ok: true, none: null, more: [] }, "more:"],
  ["a text as it stands", 'plain {"json": "too"}', 'plain {"json": "too"}'],
  ["no data URLs", ["data:image/png;base64,iVBORw0KGgo=", "see data:text/plain;base64,QUJD, there"], "see … there"],
  ["no base64 beside its media type", { mediaType: "image/png", data: "iVBORw0KGgo=" }, "mediaType: image/png"],
  ["no other base64 that is long", `a ${"Yak/".repeat(60)}== b ${"c".repeat(190)}`, `a … b ${"c".repeat(190)}`],
  ["no halves of characters, and no NUL", ["a\ud800b", "c\0d"], "a\ufffdb\ncd"],
  ["nothing of nothing", undefined, ""],
])("reads of an input %s", (_title, input, expected) => {
  expect(searched(call(input))).toBe(expected);
});

it("keeps 4,000 characters of each payload, and 32,000 of a message", () => {
  const long = "word ".repeat(2_000);
  expect(searched(call(long)).length).toBeLessThanOrEqual(4_000);
  expect(searched(call([long, "more"])).endsWith("more")).toBe(false);
  expect(searched(call(long, "short")).endsWith("word\nshort")).toBe(true);
  const many = searched(...Array.from({ length: 30 }, () => call(long, long)));
  expect([many.length <= 32_000, many.length > 31_000]).toEqual([true, true]);
  const pairs = searched(call(`a${"😀".repeat(4_000)}`));
  expect([pairs.length, pairs.isWellFormed()]).toEqual([3_999, true]);
});

it("reads what is deep, or wide, in little time", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}"x"${"}".repeat(5_000)}`);
  const wide = Array.from({ length: 500_000 }, () => null);
  const began = performance.now();
  expect(searched(call(deep), call(wide), call("data:a/".repeat(100_000))).length).toBeLessThan(8_500);
  expect(performance.now() - began).toBeLessThan(2_000);
});
