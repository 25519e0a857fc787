import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { takenBack } from "../../../src/messages/taken-back.js";

describe("a write that is taken back", () => {
  it.each([
    ["nothing came later", "a\nbad", "a", "a\nbad", "a"],
    ["a line was added behind it", "a\nbad\nb", "a", "a\nbad", "a\nb"],
    ["a line was added before it", "z\na\nbad", "a", "a\nbad", "z\na"],
    ["lines came between those of it", "a\nbad 1\nb\nbad 2", "a", "a\nbad 1\nbad 2", "a\nb"],
    ["it had replaced a line", "bad\nb\nc", "a\nb", "bad\nb", "a\nb\nc"],
    ["it had removed a line", "a\nc\nd", "a\nb\nc", "a\nc", "a\nb\nc\nd"],
    ["it had removed all", "x", "a\nb", "", "a\nb\nx"],
    ["it was undone already", "a", "a", "a\nbad", "a"],
    ["its line was changed", "a\nbad, or not", "a", "a\nbad", null],
    ["others wrote other fields", '{"a":1,"bad":2,"c":3}', '{"a":1}', '{"a":1,"bad":2}', '{\n  "a": 1,\n  "c": 3\n}'],
    ["others wrote its field", '{"a":1,"bad":3}', '{"a":1}', '{"a":1,"bad":2}', null],
    ["it made the object", '{"bad":2}', "", '{"bad":2}', ""],
    ["it made the object, and others wrote to it", '{"bad":2,"b":1}', "", '{"bad":2}', '{\n  "b": 1\n}'],
    ["it wrote odd names", '{"__proto__":1,"b":1}', "{}", '{"__proto__":1}', '{\n  "b": 1\n}'],
  ])("leaves what others wrote: %s", (_, present, before, after, expected) => {
    expect(takenBack(present, before, after)).toBe(expected);
  });

  it("leaves lines of others, wherever they came", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 6 });
    const places = fc.array(fc.nat(20), { maxLength: 5 });
    fc.assert(
      fc.property(lines, lines, places, (before, after, added) => {
        const present: string[] = [...after];
        for (const [index, place] of added.entries()) present.splice(place % (present.length + 1), 0, `other ${index}`);
        const left = takenBack(present.join("\n"), before.join("\n"), after.join("\n"));
        const others = (text: string) => text.split("\n").filter((line) => line.startsWith("other"));
        if (left === null) return;
        expect(others(left)).toEqual(others(present.join("\n")));
        expect(
          left
            .split("\n")
            .filter((line) => !line.startsWith("other"))
            .join("\n"),
        ).toBe(before.join("\n"));
      }),
      { numRuns: 2000 },
    );
  });
});
