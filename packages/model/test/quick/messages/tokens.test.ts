import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageOf } from "../../../../../test/helpers/messages.js";
import type { SessionMessagePart } from "../../../src/messages/message.js";
import { estimateMessageTokens, estimateStringTokens, estimateTokens } from "../../../src/messages/tokens.js";

const CJK =
  /[\u1100-\u11ff\u2e80-\u2fff\u3001-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff01-\uffef\u{20000}-\u{3ffff}]/gu;

// The rule as it is written down, at leisure.
function byTheRule(text: string): number {
  const ideographs = text.match(CJK)?.length ?? 0;
  const words = text.replace(CJK, " ").match(/[^\s]+/gu)?.length ?? 0;
  return Math.ceil(Math.max(text.replace(CJK, "").length / 4, words * 1.3)) + ideographs;
}

const png = (length: number) => `data:image/png;base64,${"A".repeat(length)}`;

describe("estimateStringTokens", () => {
  it("takes the larger of a quarter of the characters and 1.3 tokens a word", () => {
    expect(estimateStringTokens("")).toBe(0);
    expect(estimateStringTokens("abcd")).toBe(2);
    expect(estimateStringTokens("hello world")).toBe(3);
    expect(estimateStringTokens("  spaced   out  ")).toBe(4);
    expect(estimateStringTokens("one two three four five")).toBe(7);
    expect(estimateStringTokens("x".repeat(400))).toBe(100);
  });

  it("counts one for each Chinese, Japanese or Korean character", () => {
    expect(estimateStringTokens("日本語テキスト")).toBe(7);
    expect(estimateStringTokens("한국어")).toBe(3);
    expect(estimateStringTokens("𠀀𠀁")).toBe(2);
    expect(estimateStringTokens("use 日本語 here")).toBe(3 + 3);
    expect(estimateStringTokens("日本語abc日本語")).toBe(6 + 2);
  });

  it("follows the rule for any text", () => {
    const alphabet = fc.constantFrom(
      "a",
      "Z",
      "1",
      " ",
      "\n",
      "\t",
      "\u00a0",
      "\u2003",
      "\u3000",
      "é",
      "“",
      "日",
      "カ",
      "한",
      "𠀀",
      "🎉",
      "。",
      "Ａ",
    );
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 60 }), (characters) => {
        const text = characters.join("");
        expect(estimateStringTokens(text)).toBe(byTheRule(text));
      }),
    );
  });
});

describe("estimateMessageTokens", () => {
  it("counts four for the message itself", () => {
    expect(estimateMessageTokens(messageOf())).toBe(4);
    expect(estimateMessageTokens(messageOf({ type: "text", text: "hello world" }))).toBe(7);
    expect(estimateTokens([messageOf(), messageOf({ type: "text", text: "hello world" })])).toBe(11);
  });

  it("counts reasoning as text", () => {
    expect(estimateMessageTokens(messageOf({ type: "reasoning", text: "one two three four" }))).toBe(10);
  });

  it("counts tool inputs and outputs as JSON, whatever the part is called", () => {
    const input = { city: "Köln", days: [1, 2, 3] };
    const output = { temperature: 21, text: "sunny with a light breeze" };
    const expected = 4 + estimateStringTokens(JSON.stringify(input)) + estimateStringTokens(JSON.stringify(output));
    const state = "output-available";
    const parts = [
      [{ type: "tool-weather", toolCallId: "c", state, input, output }],
      [{ type: "dynamic-tool", toolName: "weather", toolCallId: "c", state, input, output }],
      [
        { type: "tool-call", toolName: "weather", toolCallId: "c", input },
        { type: "tool-result", toolName: "weather", toolCallId: "c", output },
      ],
      [
        { type: "tool_use", id: "c", name: "weather", input },
        { type: "tool_result", tool_use_id: "c", content: output },
      ],
    ];
    for (const each of parts) expect(estimateMessageTokens(messageOf(...each))).toBe(expected);
  });

  it("counts the text of a tool's error", () => {
    const part = { type: "tool-x", toolCallId: "c", state: "output-error", input: {}, errorText: "bad thing happened" };
    expect(estimateMessageTokens(messageOf(part))).toBe(4 + 2 + estimateStringTokens(part.errorText));
  });

  it("counts an inline file 1,000 whatever its size, and a remote one by its JSON", () => {
    const file = (url: string) => messageOf({ type: "file", mediaType: "image/png", url });
    expect(estimateMessageTokens(file(png(40)))).toBe(1004);
    expect(estimateMessageTokens(file(png(4_000_000)))).toBe(1004);
    expect(estimateMessageTokens(file("https://example.com/a.png"))).toBeLessThan(40);
  });

  it("never counts base64 inside tool outputs and data parts", () => {
    const data = "A".repeat(100_000);
    const content = { type: "content", value: [{ type: "media", mediaType: "image/png", data }] };
    const tool = { type: "tool-shot", toolCallId: "c", state: "output-available", input: {}, output: content };
    expect(estimateMessageTokens(messageOf(tool))).toBeLessThan(1_100);
    const block = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    expect(estimateMessageTokens(messageOf(block as SessionMessagePart))).toBeLessThan(1_100);
    const chart = { type: "data-chart", data: { images: [png(100_000), png(100_000)] } };
    expect(estimateMessageTokens(messageOf(chart as SessionMessagePart))).toBeLessThan(2_100);
  });

  it("still counts long plain text that stands beside a media type", () => {
    const output = { mediaType: "text/plain", data: "word ".repeat(10_000) };
    const tool = { type: "tool-read", toolCallId: "c", state: "output-available", input: {}, output };
    expect(estimateMessageTokens(messageOf(tool))).toBeGreaterThan(10_000);
  });

  it("counts data parts as JSON, and marks and sources nothing", () => {
    const part = { type: "data-weather", data: { city: "Köln" } };
    expect(estimateMessageTokens(messageOf(part as SessionMessagePart))).toBe(
      4 + estimateStringTokens(JSON.stringify(part)),
    );
    expect(
      estimateMessageTokens(messageOf({ type: "step-start" }, { type: "source-url", url: "https://example.com" })),
    ).toBe(4);
  });
});
