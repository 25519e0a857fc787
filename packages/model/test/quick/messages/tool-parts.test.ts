import { describe, expect, it } from "vitest";
import type { SessionMessagePart } from "../../../src/messages/message.js";
import { readToolPart, withToolOutput } from "../../../src/messages/tool-parts.js";

const read = (part: Record<string, unknown> & { type: string }) => readToolPart(part as SessionMessagePart);

describe("readToolPart", () => {
  it("takes the name of a static tool from its type", () => {
    const part = { type: "tool-weather", toolCallId: "c", state: "output-available", input: { a: 1 }, output: 2 };
    expect(read(part)).toEqual({
      kind: "both",
      toolCallId: "c",
      toolName: "weather",
      input: { a: 1 },
      output: 2,
      errorText: null,
      state: "output-available",
    });
  });

  it("reads a UI part without an answer as a call", () => {
    for (const state of ["input-streaming", "input-available", "approval-requested", "approval-responded"]) {
      expect(read({ type: "dynamic-tool", toolName: "x", toolCallId: "c", state, input: {} })).toMatchObject({
        kind: "call",
        toolName: "x",
        state,
      });
    }
  });

  it("reads failed and refused UI parts as answered", () => {
    expect(read({ type: "tool-x", toolCallId: "c", state: "output-error", input: {}, errorText: "no" })).toMatchObject({
      kind: "both",
      errorText: "no",
    });
    expect(read({ type: "tool-x", toolCallId: "c", state: "output-denied", input: {} })).toMatchObject({
      kind: "both",
    });
  });

  it("reads the calls and results of message content, with either set of field names", () => {
    expect(read({ type: "tool-call", toolCallId: "c", toolName: "x", input: { a: 1 } })).toMatchObject({
      kind: "call",
      toolName: "x",
      input: { a: 1 },
    });
    expect(read({ type: "tool-call", toolCallId: "c", toolName: "x", args: { a: 1 } })?.input).toEqual({ a: 1 });
    expect(read({ type: "tool-result", toolCallId: "c", toolName: "x", output: 1 })).toMatchObject({
      kind: "result",
      output: 1,
    });
    expect(read({ type: "tool-result", toolCallId: "c", toolName: "x", result: 1 })?.output).toBe(1);
    expect(read({ type: "tool-error", toolCallId: "c", toolName: "x", error: "bad" })).toMatchObject({
      kind: "result",
      output: "bad",
    });
  });

  it("takes a UI tool that is named call or result for what it is", () => {
    const part = { type: "tool-call", toolCallId: "c", state: "output-available", input: {}, output: 1 };
    expect(read(part)).toMatchObject({ kind: "both", toolName: "call" });
    expect(read({ ...part, type: "tool-result" })).toMatchObject({ kind: "both", toolName: "result" });
  });

  it("reads tool_use and tool_result blocks", () => {
    expect(read({ type: "tool_use", id: "c", name: "x", input: { a: 1 } })).toMatchObject({
      kind: "call",
      toolCallId: "c",
      toolName: "x",
      input: { a: 1 },
    });
    expect(read({ type: "tool_result", tool_use_id: "c", content: "ok" })).toMatchObject({
      kind: "result",
      toolCallId: "c",
      toolName: null,
      output: "ok",
    });
  });

  it("gives null for other parts, approvals of message content among them", () => {
    for (const type of [
      "text",
      "reasoning",
      "file",
      "data-tool-x",
      "step-start",
      "tool-approval-request",
      "tool-approval-response",
    ]) {
      expect(read({ type, toolCallId: "c" })).toBeNull();
    }
  });

  it("gives a null id for a part without one", () => {
    expect(read({ type: "tool-x", state: "input-available" })?.toolCallId).toBeNull();
  });
});

describe("withToolOutput", () => {
  it("writes to the field that the part reads from, on a copy", () => {
    const parts = [
      { type: "tool-x", toolCallId: "c", state: "output-available", output: "old" },
      { type: "tool-result", toolCallId: "c", output: "old" },
      { type: "tool-result", toolCallId: "c", result: "old" },
      { type: "tool_result", tool_use_id: "c", content: "old" },
    ];
    for (const part of parts) {
      const changed = withToolOutput(part, "new");
      expect(readToolPart(changed)?.output).toBe("new");
      expect(Object.keys(changed)).toEqual(Object.keys(part));
      expect(readToolPart(part)?.output).toBe("old");
    }
  });
});
