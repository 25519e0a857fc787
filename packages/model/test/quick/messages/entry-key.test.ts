import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyOfContent, keyOfTitle } from "../../../src/messages/entry-key.js";

describe("the key of a title", () => {
  it("is the title where it is a slug already", () => {
    for (const title of ["deploy-checklist", "faq_1", "v1.2", "日本語", "naïve"]) expect(keyOfTitle(title)).toBe(title);
  });

  it("is the slug where only case and spacing are lost", () => {
    for (const title of ["Deploy Checklist", "deploy  checklist", " deploy-checklist "]) {
      expect(keyOfTitle(title)).toBe("deploy-checklist");
    }
  });

  it("is the slug and a short hash where the slug lost something", () => {
    expect(keyOfTitle("C++ tips")).toMatch(/^c-tips-[0-9a-f]{12}$/);
    expect(keyOfTitle("🚀")).toMatch(/^[0-9a-f]{12}$/);
    expect(keyOfTitle("x".repeat(500)).length).toBeLessThan(80);
  });

  it("differs where titles differ", () => {
    const titles = [
      ..."C++ tips|C# tips|C tips|-c-tips|日本語|日本|日 本|é|e\u0301|ﬁ|fi|..|.|a/b|a.b|../a".split("|"),
      "x".repeat(100),
      "x".repeat(101),
    ];
    expect(new Set(titles.map(keyOfTitle)).size).toBe(titles.length);
    const fold = (title: string) =>
      title
        .trim()
        .toLowerCase()
        .replace(/[\s-]+/gu, "-");
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => (keyOfTitle(a) === keyOfTitle(b)) === (fold(a) === fold(b))),
    );
  });

  it("gives an entry's key for the key itself, so that a shown key can be used as title", () => {
    for (const title of ["C++ tips", "日本語", "Deploy Checklist"])
      expect(keyOfTitle(keyOfTitle(title))).toBe(keyOfTitle(title));
  });
});

describe("the key of a content without a title", () => {
  it("shows the first words and is the same for the same content only", () => {
    expect(keyOfContent("Alice prefers tea, and so does Bob every morning.")).toMatch(
      /^alice-prefers-tea-and-so-does-[0-9a-f]{12}$/,
    );
    expect(keyOfContent("a b")).toBe(keyOfContent("a b"));
    expect(keyOfContent("a b")).not.toBe(keyOfContent("a  b"));
  });
});
