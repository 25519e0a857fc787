import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sha256, sha256Bytes } from "./sha256.js";

const expected = (text: string) => createHash("sha256").update(text).digest("hex");

describe("sha256", () => {
  it("gives what Node's own gives, for every length around a block", () => {
    for (let length = 0; length < 200; length += 1) {
      const text = "x".repeat(length);
      expect(sha256(text)).toBe(expected(text));
    }
  });

  it("hashes bytes, whatever they are", () => {
    for (let length = 0; length < 300; length += 7) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37) % 256);
      expect(sha256Bytes(bytes)).toEqual(new Uint8Array(createHash("sha256").update(bytes).digest()));
    }
  });

  it("hashes the UTF-8 of a text", () => {
    for (const text of ["Grüße, 日本語 🙂", "\0", "\u{10ffff}".repeat(99), "a".repeat(1_000_003)]) {
      expect(sha256(text)).toBe(expected(text));
    }
  });
});
