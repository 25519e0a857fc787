import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { portableSha256, sha256, sha256Bytes } from "../../../src/messages/sha256.js";

const expected = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
const inHex = (text: string) => expected(new TextEncoder().encode(text)).toString("hex");

describe("the portable SHA-256", () => {
  it("gives what Node's own gives, for every length around a block", () => {
    for (let length = 0; length < 300; length += 1) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37) % 256);
      expect(portableSha256(bytes)).toEqual(new Uint8Array(expected(bytes)));
    }
  });

  it("hashes what is long", () => {
    const bytes = new Uint8Array(1_000_003).fill(97);
    expect(portableSha256(bytes)).toEqual(new Uint8Array(expected(bytes)));
  });
});

describe("sha256", () => {
  it("hashes the UTF-8 of a text, and bytes", () => {
    for (const text of ["", "Grüße, 日本語 🙂", "\0", "half a pair \ud83d", "\u{10ffff}".repeat(99)]) {
      expect(sha256(text)).toBe(inHex(text));
      const bytes = new TextEncoder().encode(text);
      expect(sha256Bytes(bytes)).toEqual(new Uint8Array(expected(bytes)));
    }
  });

  it("does the same where the runtime has no crypto of Node", async () => {
    const { getBuiltinModule } = process;
    process.getBuiltinModule = (() => undefined) as typeof getBuiltinModule;
    try {
      // Another copy of the module, which looks for it anew.
      const copy = "../../../src/messages/sha256.js?anew";
      const portable: typeof import("../../../src/messages/sha256.js") = await import(copy);
      expect(portable.sha256("Grüße, half a pair \ud83d")).toBe(inHex("Grüße, half a pair \ud83d"));
      expect(portable.sha256Bytes(new Uint8Array([1, 2]))).toEqual(new Uint8Array(expected(new Uint8Array([1, 2]))));
    } finally {
      process.getBuiltinModule = getBuiltinModule;
    }
  });
});
