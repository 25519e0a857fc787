import { convertToModelMessages, type UIMessage } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageOf } from "../../../../../test/helpers/messages.js";
import { truncateOlderMessages } from "../../../src/compaction/truncate.js";
import { summaryMessage } from "../../../src/messages/compactions.js";
import type { SessionMessagePart } from "../../../src/messages/message.js";
import { readToolPart } from "../../../src/messages/tool-parts.js";

const tool = (output: unknown): SessionMessagePart => ({
  type: "tool-x",
  toolCallId: "c",
  state: "output-available",
  input: { q: "i".repeat(900) },
  output,
});
const cutParts = (parts: SessionMessagePart[], options = {}) =>
  truncateOlderMessages([messageOf(...parts)], { keepRecent: 0, ...options })[0]?.parts ?? [];
const cutOutput = (output: unknown, options = {}) => cutParts([tool(output)], options)[0]?.output;

describe("truncateOlderMessages", () => {
  it("leaves the last four messages as they are, and cuts the others at 500 and 10,000 characters", () => {
    const long = messageOf(tool("o".repeat(600)), { type: "text", text: "t".repeat(12_000) });
    const messages = Array.from({ length: 6 }, () => long);
    const cut = truncateOlderMessages(messages);
    expect(cut.slice(2)).toEqual(messages.slice(2));
    for (const { parts } of cut.slice(0, 2)) {
      expect(parts[0]?.output).toMatch(/^o{460,}… \[truncated, \d+ characters\]$/);
      expect(String(parts[0]?.output).length).toBeLessThanOrEqual(500);
      expect(parts[1]?.text).toMatch(/^t{9900,}… \[truncated, \d+ characters\]$/);
      expect(parts[1]?.text?.length).toBeLessThanOrEqual(10_000);
    }
  });

  it("says how much is gone", () => {
    const text = cutParts([{ type: "text", text: "x".repeat(5_000) }], { maxTextChars: 1_000 })[0]?.text ?? "";
    const kept = text.indexOf("…");
    expect(text.slice(kept)).toBe(`… [truncated, ${5_000 - kept} characters]`);
  });

  it("keeps what is short enough, as the very same object", () => {
    const messages = [
      messageOf(tool("o".repeat(500)), { type: "text", text: "t".repeat(10_000) }),
      messageOf(tool({ a: [1, 2] })),
      messageOf(),
    ];
    const cut = truncateOlderMessages(messages, { keepRecent: 0 });
    expect(cut).not.toBe(messages);
    for (const [index, each] of cut.entries()) expect(each).toBe(messages[index]);
  });

  it("shares what it does not cut", () => {
    const original = messageOf({ type: "text", text: "short" }, tool("o".repeat(900)));
    const [cut] = truncateOlderMessages([original], { keepRecent: 0 });
    expect(cut?.parts[0]).toBe(original.parts[0]);
    expect(cut?.parts[1]?.input).toBe(original.parts[1]?.input);
  });

  it("leaves tool inputs, reasoning, files and summaries whole", () => {
    const summary = summaryMessage({ id: "a", summary: "s".repeat(20_000) });
    const kept = messageOf(
      { ...tool(1), input: { code: "c".repeat(20_000) } },
      { type: "reasoning", text: "r".repeat(20_000) },
      { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(20_000)}` },
    );
    expect(truncateOlderMessages([summary, kept], { keepRecent: 0 })).toEqual([summary, kept]);
  });

  it("cuts a tool's error text", () => {
    const part = { type: "tool-x", toolCallId: "c", state: "output-error", input: {}, errorText: "e".repeat(900) };
    expect(cutParts([part])[0]?.errorText).toMatch(/^e+… \[truncated, \d+ characters\]$/);
  });

  it("cuts outputs whatever the part is called", () => {
    const output = "o".repeat(900);
    const parts: SessionMessagePart[] = [
      { type: "dynamic-tool", toolName: "x", toolCallId: "1", state: "output-available", input: {}, output },
      { type: "tool-result", toolCallId: "2", toolName: "x", output },
      { type: "tool-result", toolCallId: "3", toolName: "x", result: output } as SessionMessagePart,
      { type: "tool_result", tool_use_id: "4", content: output } as SessionMessagePart,
    ];
    for (const part of cutParts(parts)) expect(String(readToolPart(part)?.output).length).toBeLessThanOrEqual(500);
  });

  it("cuts between code points", () => {
    for (let length = 60; length < 70; length += 1) {
      const text = cutParts([{ type: "text", text: "🎉".repeat(200) }], { maxTextChars: length })[0]?.text ?? "";
      expect(text.isWellFormed()).toBe(true);
      expect(text).toMatch(/^(🎉)+… /u);
    }
  });

  it("takes limits so small that the note does not fit", () => {
    expect(cutParts([{ type: "text", text: "x".repeat(100) }], { maxTextChars: 10 })[0]?.text).toBe(
      "xxxxx… [truncated, 95 characters]",
    );
    expect(cutParts([{ type: "text", text: "x".repeat(12) }], { maxTextChars: 10 })[0]?.text).toBe("x".repeat(12));
    expect(cutOutput({ a: "x".repeat(100) }, { maxToolOutputChars: 0 })).toEqual({
      "[truncated]": "… [truncated, 109 characters]",
    });
  });

  it("refuses options that are not whole numbers", () => {
    for (const options of [{ keepRecent: -1 }, { maxTextChars: Number.NaN }, { maxToolOutputChars: 1.5 }]) {
      expect(() => truncateOlderMessages([], options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  });
});

describe("a structured tool output", () => {
  it("keeps its keys, its numbers and its short strings", () => {
    const output = cutOutput({ stdout: "o".repeat(5_000), stderr: "", code: 1, ok: false, at: null }) as Record<
      string,
      unknown
    >;
    expect(output).toMatchObject({ stderr: "", code: 1, ok: false, at: null });
    expect(output.stdout).toMatch(/^o{100,}… \[truncated, \d+ characters\]$/);
    expect(JSON.stringify(output).length).toBeLessThanOrEqual(500);
  });

  it("stays an array when it is one, with a note for the items left out", () => {
    const numbers = cutOutput(Array.from({ length: 1_000 }, (_, index) => index)) as unknown[];
    expect(numbers.slice(0, 3)).toEqual([0, 1, 2]);
    expect(numbers.at(-1)).toBe(`… [truncated, ${1_000 - (numbers.length - 1)} items]`);
    const rows = cutOutput(Array.from({ length: 100 }, (_, id) => ({ id, name: "n".repeat(30) }))) as unknown[];
    expect(rows[0]).toMatchObject({ id: 0 });
  });

  it("is bounded when it has many keys", () => {
    const output = cutOutput(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key${index}`, index])));
    expect(output).toMatchObject({ key0: 0, "[truncated]": expect.stringMatching(/\d+ keys/) });
    expect(JSON.stringify(output).length).toBeLessThanOrEqual(500);
  });

  it("keeps the AI SDK's wrappers", () => {
    const long = "v".repeat(5_000);
    expect(cutOutput({ type: "text", value: long })).toMatchObject({
      type: "text",
      value: expect.stringMatching(/^v+… /),
    });
    expect(cutOutput({ type: "error-text", value: long })).toMatchObject({
      type: "error-text",
      value: expect.stringMatching(/^v+… /),
    });
    expect(cutOutput({ type: "json", value: { long } })).toMatchObject({
      type: "json",
      value: { long: expect.stringMatching(/^v+… /) },
    });
    const content = { type: "content", value: Array.from({ length: 90 }, () => ({ type: "text", text: long })) };
    const cut = cutOutput(content) as { type: string; value: { type: string; text: string }[] };
    expect(cut.type).toBe("content");
    for (const block of cut.value) expect(block).toEqual({ type: "text", text: expect.any(String) });
    expect(cutOutput(content, { maxToolOutputChars: 10 })).toMatchObject({
      type: "content",
      value: [{ type: "text" }],
    });
  });

  it("gets a note in the place of media, never half of them", () => {
    const data = "A".repeat(5_000);
    const note = "[image/png left out, 5000 characters]";
    expect(cutOutput({ type: "content", value: [{ type: "media", mediaType: "image/png", data }] })).toEqual({
      type: "content",
      value: [{ type: "text", text: note }],
    });
    expect(cutOutput({ content: [{ type: "image", mimeType: "image/png", data }] })).toEqual({
      content: [{ type: "text", text: note }],
    });
    const shot = `data:image/png;base64,${data}`;
    expect(cutOutput({ shot })).toEqual({ shot: "[image/png left out, 5022 characters]" });
    expect(cutOutput(shot)).toBe("[image/png left out, 5022 characters]");
  });

  it("may be nested deeply", () => {
    let deep: unknown = "x".repeat(900);
    for (let depth = 0; depth < 2_000; depth += 1) deep = depth % 2 === 0 ? [deep] : { deep };
    expect(JSON.stringify(cutOutput(deep)).length).toBeLessThan(600);
  });

  it("may have a key named __proto__", () => {
    const output = cutOutput(JSON.parse(`{"__proto__":{"polluted":true},"long":"${"x".repeat(900)}"}`));
    expect(Object.keys(output as object)).toContain("__proto__");
    expect((output as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("keeps to the limit, keeps its kind, is not changed, and is not cut twice", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5, depthSize: "large" }),
        fc.integer({ min: 120, max: 600 }),
        (value, maxToolOutputChars) => {
          const wide = [value, { value, text: "word ".repeat(200) }];
          const before = structuredClone(wide);
          const cut = cutOutput(wide, { maxToolOutputChars });
          expect(wide).toEqual(before);
          expect(Array.isArray(cut)).toBe(true);
          // Escapes are not counted.
          expect(JSON.stringify(cut).replace(/\\u....|\\./g, "_").length).toBeLessThanOrEqual(maxToolOutputChars);
          expect(cutOutput(cut, { maxToolOutputChars })).toEqual(cut);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("with the AI SDK", () => {
  it("takes and gives UI messages, which still convert to model messages", async () => {
    const messages: UIMessage[] = [
      { id: "1", role: "user", parts: [{ type: "text", text: "t".repeat(20_000) }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "step-start" },
          {
            type: "dynamic-tool",
            toolName: "run",
            toolCallId: "c",
            state: "output-available",
            input: {},
            output: { log: "l".repeat(9_000), code: 0 },
          },
        ],
      },
      { id: "3", role: "user", parts: [{ type: "text", text: "go on" }] },
    ];
    const cut: UIMessage[] = truncateOlderMessages(messages, { keepRecent: 1 });
    const [asked, called, answered] = await convertToModelMessages(cut);
    expect(JSON.stringify(asked).length).toBeLessThan(10_200);
    expect(called).toMatchObject({ role: "assistant", content: [{ type: "tool-call", toolName: "run" }] });
    expect(answered).toMatchObject({ role: "tool", content: [{ output: { type: "json", value: { code: 0 } } }] });
  });
});

it("follows what is left of a list by an item of the same kind", () => {
  const cut = (items: unknown[]): unknown => {
    const [message] = truncateOlderMessages([{ id: "m", role: "assistant", parts: [tool(items)] }], { keepRecent: 0 });
    return [message?.parts[0]?.output].flat().at(-1);
  };
  const note = expect.stringContaining("truncated");
  expect(cut(Array.from({ length: 50 }, (_, n) => ({ n, name: `name ${n}` })))).toEqual({ "[truncated]": note });
  expect(cut(Array.from({ length: 50 }, () => ({ type: "text", text: "a line" })))).toEqual({
    type: "text",
    text: note,
  });
  expect(cut(Array.from({ length: 50 }, () => "a line of text"))).toEqual(note);
});
