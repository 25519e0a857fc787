import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sha256 } from "./sha256.js";

const expected = (text: string) => createHash("sha256").update(text).digest("hex");

describe("sha256", () => {
  it("gives what Node's own gives, for every length around a block", () => {
    for (let length = 0; length < 200; length += 1) {
      const text = "x".repeat(length);
      expect(sha256(text)).toBe(expected(text));
    }
  });

  it("hashes the UTF-8 of a text", () => {
    for (const text of ["Grüße, 日本語 🙂", "\0", "\u{10ffff}".repeat(99), "a".repeat(1_000_003)]) {
      expect(sha256(text)).toBe(expected(text));
    }
  });
});
