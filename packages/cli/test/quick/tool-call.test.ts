import { describe, expect, it } from "vitest";
import { readToolPart, type ToolPart } from "../../../model/src/messages/tool-parts.js";
import { describeTool } from "../../src/render-message.js";

const tool = (part: object) => readToolPart({ type: "tool-look", toolCallId: "c", ...part }) as ToolPart;
const done = (input: unknown, output: unknown) => tool({ state: "output-available", input, output });

describe("a tool call on one line", () => {
  it("shows the call and what came of it", () => {
    expect(describeTool(done({ at: 1 }, "found\nit"), 80)).toBe('· look {"at":1} → found it');
    expect(describeTool(tool({ state: "input-available", input: { at: 1 } }), 80)).toBe('· look {"at":1}');
    expect(describeTool(tool({ state: "output-error", input: {}, errorText: "gone" }), 80)).toBe(
      "· look {} → error: gone",
    );
  });

  it.each([20, 40, 41, 80])("fits %i characters, and shows something of both", (length) => {
    const [short, long] = ["x", "y".repeat(200)];
    for (const [input, output] of [
      [short, long],
      [long, short],
      [long, long],
    ]) {
      const line = describeTool(done(input, output), length);
      expect(line.length).toBeLessThanOrEqual(length);
      expect(line).toMatch(/^· look [xy…]+ → [xy]/u);
    }
    expect(describeTool(done(long, short), length).length).toBeGreaterThanOrEqual(length - 2);
  });
});
