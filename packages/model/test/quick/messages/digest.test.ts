import { describe, expect, it } from "vitest";
import { textMessage } from "../../../../../test/helpers/messages.js";
import { digestMessage, digestRange } from "../../../src/messages/sha256.js";

describe("the digest of a message", () => {
  it("is the same for the same message, and another one when anything of it differs", () => {
    const one = textMessage("a", "text");
    const others = [
      textMessage("b", "text"),
      textMessage("a", "text "),
      { ...one, role: "assistant" },
      { ...one, metadata: {} },
    ];
    expect(digestMessage(structuredClone(one))).toBe(digestMessage(one));
    expect(new Set([one, ...others].map(digestMessage)).size).toBe(5);
  });
});

describe("the digest of a range", () => {
  it("tells which messages there are, and in which order", () => {
    const [a, b] = [digestMessage(textMessage("a", "one")), digestMessage(textMessage("b", "two"))];
    expect(new Set([[], [a], [b], [a, b], [b, a], [a, a]].map(digestRange)).size).toBe(6);
  });
});
