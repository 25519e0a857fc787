import { describe, expect, it } from "vitest";
import { Recent } from "../../../src/lib/recent.js";

describe("the newest values by key", () => {
  it("forgets the oldest when they weigh more than the limit", () => {
    const recent = new Recent<string>(2);
    for (const key of ["a", "b", "a", "c"]) recent.set(key, key);
    expect(["a", "b", "c"].map((key) => recent.get(key))).toEqual(["a", undefined, "c"]);
    expect(recent.weight).toBe(2);
  });

  it("keeps the newest, however much it weighs, and makes one that grows the newest", () => {
    const recent = new Recent<string>(10);
    recent.set("a", "a", 4);
    recent.set("b", "b", 4);
    recent.grow("a", 20);
    recent.grow("not there", 1);
    expect([recent.get("a"), recent.get("b"), recent.weight]).toEqual(["a", undefined, 24]);
  });

  it("weighs nothing once it is empty", () => {
    const recent = new Recent<string>(10);
    recent.set("a", "a", 4);
    recent.set("b", "b", 3);
    recent.delete("a");
    expect(recent.weight).toBe(3);
    recent.clear();
    expect([recent.weight, recent.get("b")]).toEqual([0, undefined]);
  });
});
