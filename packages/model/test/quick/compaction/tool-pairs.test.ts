import { describe, expect, it } from "vitest";
import { textMessage } from "../../../../../test/helpers/messages.js";
import { sanitizeToolPairs } from "../../../src/compaction/boundary.js";

const assistant = (id: string, ...parts: { type: string; [field: string]: unknown }[]) => ({
  id,
  role: "assistant",
  parts,
});

describe("sanitizeToolPairs", () => {
  it("leaves out results whose call is gone, and messages that held nothing else", () => {
    const orphan = { type: "tool-result", toolCallId: "gone", toolName: "x", output: "r" };
    const messages = [textMessage("a"), assistant("b", orphan), assistant("c", { type: "text", text: "t" }, orphan)];
    expect(sanitizeToolPairs(messages)).toEqual([textMessage("a"), assistant("c", { type: "text", text: "t" })]);
    expect(messages[2]?.parts).toHaveLength(2);
  });

  it("gives a call whose result is gone one, in a message after it", () => {
    const call = { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} };
    const use = { type: "tool_use", id: "c2", name: "read", input: {} };
    const [, , first, , second, last] = sanitizeToolPairs([
      textMessage("a"),
      assistant("b", call),
      assistant("c", use),
      textMessage("d"),
    ]);
    expect(first).toMatchObject({
      id: "stub-c1",
      parts: [{ type: "tool-result", toolCallId: "c1", toolName: "read" }],
    });
    expect(second).toMatchObject({ id: "stub-c2", role: "user", parts: [{ type: "tool_result", tool_use_id: "c2" }] });
    expect(last).toEqual(textMessage("d"));
  });

  it("answers a call of the AI SDK in its own part, as its functions want it", () => {
    const part = { type: "tool-read", toolCallId: "c", state: "input-available", input: { path: "x" } };
    expect(sanitizeToolPairs([assistant("a", part)])).toEqual([
      assistant("a", { ...part, state: "output-available", output: expect.stringContaining("earlier") }),
    ]);
  });

  it("gives what is in order back as it is", () => {
    const messages = [
      textMessage("a"),
      assistant("b", { type: "tool-call", toolCallId: "c", toolName: "x", input: {} }),
      { ...assistant("d", { type: "tool-result", toolCallId: "c", toolName: "x", output: "r" }), role: "tool" },
      assistant("e", { type: "tool-x", toolCallId: "f", state: "output-error", errorText: "no", input: {} }),
      assistant("g", { type: "tool-x", state: "input-available" }),
    ];
    const sanitized = sanitizeToolPairs(messages);
    expect(sanitized).toHaveLength(5);
    sanitized.forEach((message, index) => void expect(message).toBe(messages[index]));
  });
});
