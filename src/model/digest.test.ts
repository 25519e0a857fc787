import { describe, expect, it } from "vitest";
import { digestMessage, digestRange } from "./digest.js";

const message = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });

describe("the digest of a message", () => {
  it("is the same for the same message, and another one when anything of it differs", () => {
    const one = message("a", "text");
    const others = [
      message("b", "text"),
      message("a", "text "),
      { ...one, role: "assistant" },
      { ...one, metadata: {} },
    ];
    expect(digestMessage(structuredClone(one))).toBe(digestMessage(one));
    expect(new Set([one, ...others].map(digestMessage)).size).toBe(5);
  });
});

describe("the digest of a range", () => {
  it("tells which messages there are, and in which order", () => {
    const [a, b] = [digestMessage(message("a", "one")), digestMessage(message("b", "two"))];
    expect(new Set([[], [a], [b], [a, b], [b, a], [a, a]].map(digestRange)).size).toBe(6);
  });
});
