import { describe, expect, it } from "vitest";
import { assertLabel, assertNewLabel, LINE_BREAKS, MAX_LABEL_LENGTH } from "../../../src/context/label.js";

const code = (code: string) => expect.objectContaining({ code });

describe("a label", () => {
  it.each(["memory", "Learned facts", "メモ", "a (b) [c]", "x".repeat(MAX_LABEL_LENGTH)])("may be %s", (label) => {
    expect(() => assertLabel(label)).not.toThrow();
  });

  it.each([
    ["empty", ""],
    ["blank", "  "],
    ["too long", "x".repeat(MAX_LABEL_LENGTH + 1)],
    ["a piece of a rule", "a═b"],
    ["NUL", "a\0b"],
    ["half a surrogate pair", "a\ud800"],
    ["no text", 7],
    ["nothing", undefined],
  ])("is not %s", (_, label) => {
    expect(() => assertLabel(label)).toThrow(code("INVALID_LABEL"));
  });

  it("holds no line break of any kind", () => {
    for (const character of LINE_BREAKS) expect(() => assertLabel(`a${character}b`)).toThrow(code("INVALID_LABEL"));
  });

  it("is refused beside the block that has it", () => {
    expect(() => assertNewLabel("Memory", "memory")).toThrow(code("DUPLICATE_LABEL"));
    expect(() => assertNewLabel("memories", undefined)).not.toThrow();
  });
});
