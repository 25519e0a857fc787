import { describe, expect, it } from "vitest";
import { encodeMessage, isMarked, splitContent } from "../../../src/messages/codec.js";
import type { SessionMessage } from "../../../src/messages/message.js";

const message = (fields: Partial<SessionMessage> & Record<string, unknown> = {}): SessionMessage => ({
  id: "m1",
  role: "user",
  parts: [{ type: "text", text: "hello" }],
  ...fields,
});

const image = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(4000)}` };

describe("isMarked", () => {
  it.each([
    ["a date", message({ createdAt: new Date(0) })],
    ["media", message({ parts: [image] })],
    ["a field of the marker's name", message({ $stemma: { own: true } })],
    ["a field of that name, and another one behind it", message({ $stemma: 1, metadata: { a: {} } })],
  ])("tells of a content that stands for a message with %s", (_, given) => {
    expect(isMarked(encodeMessage(given).content)).toBe(true);
  });

  it("tells of a content that stands elsewhere", () => {
    expect(isMarked(splitContent(message(), "row:1"))).toBe(true);
  });

  it.each([
    ["a plain message", message()],
    ["one that ends in braces", message({ metadata: { a: { b: {} } } })],
    ["one whose text looks like a marker", message({ metadata: { text: '"$stemma":{}}' } })],
  ])("does not take %s for one", (_, given) => {
    expect(isMarked(encodeMessage(given).content)).toBe(false);
  });
});
