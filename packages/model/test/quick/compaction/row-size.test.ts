import { convertToModelMessages, type UIMessage } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyString } from "../../../../../test/helpers/any-string.js";
import { messageOf } from "../../../../../test/helpers/messages.js";
import { enforceRowSizeLimit } from "../../../src/compaction/row-size.js";
import type { SessionMessagePart } from "../../../src/messages/message.js";
import { utf8Length } from "../../../src/messages/storable-text.js";
import { readToolPart } from "../../../src/messages/tool-parts.js";

const tool = (toolCallId: string, output: unknown, input: unknown = {}): SessionMessagePart => ({
  type: "tool-read",
  toolCallId,
  state: "output-available",
  input,
  output,
});
const bytes = (value: unknown) => utf8Length(JSON.stringify(value));

describe("enforceRowSizeLimit", () => {
  it("gives back the very same message when it fits", () => {
    const fitting = messageOf(tool("1", "o".repeat(1_700_000)));
    expect(enforceRowSizeLimit(fitting)).toBe(fitting);
  });

  it("replaces an oversized tool output by a preview and a note to run the tool again", () => {
    const large = messageOf({ type: "text", text: "here it is" }, tool("1", "o".repeat(3_000_000), { path: "a" }));
    const cut = enforceRowSizeLimit(large);
    expect(bytes(cut)).toBeLessThan(5_000);
    expect(cut.parts[0]).toBe(large.parts[0]);
    expect(cut.parts[1]).toMatchObject({
      type: "tool-read",
      toolCallId: "1",
      state: "output-available",
      input: { path: "a" },
    });
    expect(cut.parts[1]?.output).toMatch(
      /^o{1900,}… \[truncated, \d+ characters\]\n\[This output of 3000002 bytes .*Run the tool again/,
    );
    expect(large.parts[1]?.output).toHaveLength(3_000_000);
  });

  it("keeps the shape of a structured output", () => {
    const object = enforceRowSizeLimit(messageOf(tool("1", { log: "l".repeat(3_000_000), code: 7 }))).parts[0]?.output;
    expect(object).toMatchObject({
      code: 7,
      log: expect.stringMatching(/^l+… /),
      "[truncated]": expect.stringMatching(/again/),
    });
    const rows = enforceRowSizeLimit(
      messageOf(
        tool(
          "1",
          Array.from({ length: 300_000 }, (_, index) => index),
        ),
      ),
    ).parts[0]?.output;
    expect((rows as unknown[])[0]).toBe(0);
    expect((rows as unknown[]).at(-1)).toMatch(/Run the tool again/);
    const text = enforceRowSizeLimit(messageOf(tool("1", { type: "text", value: "v".repeat(3_000_000) }))).parts[0]
      ?.output;
    expect(text).toEqual({ type: "text", value: expect.stringMatching(/^v+… .*\n.*Run the tool again/) });
    const blocks = [{ type: "media", mediaType: "image/png", data: "A".repeat(3_000_000) }];
    const content = enforceRowSizeLimit(messageOf(tool("1", { type: "content", value: blocks }))).parts[0]?.output;
    expect(content).toEqual({
      type: "content",
      value: [
        { type: "text", text: "[image/png left out, 3000000 characters]" },
        { type: "text", text: expect.stringMatching(/Run the tool again/) },
      ],
    });
  });

  it("takes the largest outputs only, and texts only after them", () => {
    const text = { type: "text", text: "t".repeat(900_000) };
    const cut = enforceRowSizeLimit(messageOf(text, tool("1", "s".repeat(400_000)), tool("2", "l".repeat(900_000))));
    expect(cut.parts[0]).toBe(text);
    expect(cut.parts[1]?.output).toHaveLength(400_000);
    expect(cut.parts[2]?.output).toMatch(/again/);
  });

  it("cuts long texts, and by no more than it must", () => {
    const cut = enforceRowSizeLimit(messageOf({ type: "text", text: "🎉\n".repeat(900_000) }));
    expect(bytes(cut)).toBeLessThanOrEqual(1_800_000);
    expect(bytes(cut)).toBeGreaterThan(1_799_900);
    expect(cut.parts[0]?.text?.isWellFormed()).toBe(true);
    expect(cut.parts[0]?.text).toMatch(/… \[truncated, \d+ characters\]$/);
  });

  it("takes the signature off reasoning that it cuts", () => {
    const thought = {
      type: "reasoning",
      text: "r".repeat(3_000_000),
      providerMetadata: { anthropic: { signature: "s" } },
    };
    expect(Object.keys(enforceRowSizeLimit(messageOf(thought)).parts[0] ?? {})).toEqual(["type", "text"]);
  });

  it("cuts inputs, files, data and metadata when nothing else helps", () => {
    const url = `data:image/png;base64,${"A".repeat(3_000_000)}`;
    const cut = enforceRowSizeLimit({
      ...messageOf(
        tool("1", "ok", { path: "a", content: "c".repeat(3_000_000) }),
        { type: "file", mediaType: "image/png", url },
        { type: "data-x", data: "d".repeat(3_000_000) } as SessionMessagePart,
      ),
      metadata: { name: "Alice", trace: "t".repeat(3_000_000) },
    });
    expect(cut.parts[0]).toMatchObject({
      toolCallId: "1",
      input: { path: "a", content: expect.stringMatching(/^c+… /) },
      output: "ok",
    });
    expect(cut.parts[1]).toEqual({
      type: "text",
      text: expect.stringMatching(/^\[file \(image\/png\) of \d+ bytes left out/),
    });
    expect(cut.parts[2]).toEqual({ type: "text", text: expect.stringMatching(/^\[data-x of \d+ bytes left out/) });
    expect(cut.metadata).toMatchObject({ name: "Alice" });
  });

  it("lets a large file or large metadata give way before a text that is not to blame", () => {
    const text = { type: "text", text: "t".repeat(50_000) };
    const file = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(3_000_000)}` };
    const withFile = enforceRowSizeLimit({ ...messageOf(text, file), metadata: { note: "n".repeat(3_000) } });
    expect(withFile.parts[0]).toBe(text);
    expect(withFile.metadata).toEqual({ note: "n".repeat(3_000) });
    const small = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(3_000)}` };
    const withTrace = enforceRowSizeLimit({ ...messageOf(text, small), metadata: { trace: "t".repeat(3_000_000) } });
    expect(withTrace.parts).toEqual([text, small]);
  });

  it("leaves out the oldest of too many parts, calls with their results", () => {
    const parts = Array.from({ length: 1_000 }, (_, index): SessionMessagePart[] => [
      { type: "tool-call", toolCallId: `${index}`, toolName: "x", input: {} },
      { type: "tool-result", toolCallId: `${index}`, toolName: "x", output: 1 },
    ]).flat();
    for (let limit = 1_000; limit < 1_100; limit += 10) {
      const cut = enforceRowSizeLimit(messageOf(...parts), limit);
      expect(bytes(cut)).toBeLessThanOrEqual(limit);
      const [note, ...rest] = cut.parts;
      expect(note?.text).toBe(`[${2_000 - rest.length} earlier parts left out: the message was too large to store]`);
      expect(rest[0]?.type).toBe("tool-call");
      expect(rest).toEqual(parts.slice(-rest.length));
    }
  });

  it("refuses a limit that not even id and role fit, and one that is no number", () => {
    const wide = { ...messageOf({ type: "text", text: "hello" }), id: "i".repeat(500) };
    expect(() => enforceRowSizeLimit(wide, 400)).toThrow(expect.objectContaining({ code: "MESSAGE_TOO_LARGE" }));
    expect(() => enforceRowSizeLimit(wide, 0)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  it("always keeps to the limit, leaves its argument alone, and keeps every tool's identity where parts are few", () => {
    const text = fc.oneof(
      anyString({ maxLength: 2_000 }),
      fc.nat(4_000).map((length) => "x\u0001".repeat(length)),
    );
    const value = fc.oneof(
      fc.jsonValue(),
      text,
      fc.array(text, { maxLength: 4 }),
      fc.dictionary(text, text, { maxKeys: 3 }),
    );
    const id = fc.nat(9).map(String);
    const part: fc.Arbitrary<SessionMessagePart> = fc.oneof(
      fc.record({ type: fc.constantFrom("text", "reasoning"), text }),
      fc.tuple(id, value, value).map(([toolCallId, output, input]) => tool(toolCallId, output, input)),
      fc.tuple(id, value).map(([toolCallId, output]) => ({ type: "tool-result", toolCallId, toolName: "x", output })),
      fc.record({
        type: fc.constantFrom("file", "data-x", "odd"),
        url: text,
        mediaType: fc.constant("image/png"),
        data: value,
      }),
    );
    const whole = fc.record({ parts: fc.array(part, { maxLength: 6 }), metadata: value });
    fc.assert(
      fc.property(whole, fc.integer({ min: 300, max: 40_000 }), ({ parts, metadata }, limit) => {
        const given = { ...messageOf(...parts), metadata };
        const before = JSON.stringify(given);
        const cut = enforceRowSizeLimit(given, limit);
        expect(bytes(cut)).toBeLessThanOrEqual(limit);
        expect(JSON.stringify(given)).toBe(before);
        if (cut.parts.length === parts.length && !String(cut.parts[0]?.text).includes("earlier parts")) {
          expect(cut.parts.map(identityOf)).toEqual(parts.map(identityOf));
        }
      }),
      { numRuns: 150 },
    );
  });

  it("gives messages that still convert to model messages", async () => {
    const large: UIMessage = {
      id: "m",
      role: "assistant",
      parts: [
        { type: "reasoning", text: "r".repeat(30_000) },
        { type: "text", text: "t".repeat(30_000) },
        { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(30_000)}` },
        {
          type: "dynamic-tool",
          toolName: "x",
          toolCallId: "c",
          state: "output-available",
          input: { a: "i".repeat(30_000) },
          output: { b: "o".repeat(30_000) },
        },
      ],
    };
    const cut: UIMessage = enforceRowSizeLimit(large, 12_000);
    const converted = await convertToModelMessages([cut]);
    expect(converted.map(({ role }) => role)).toEqual(["assistant", "tool"]);
    expect(converted[1]).toMatchObject({
      content: [{ type: "tool-result", toolCallId: "c", output: { type: "json" } }],
    });
  });
});

function identityOf(part: SessionMessagePart): unknown {
  const found = readToolPart(part);
  return found === null ? null : [part.type, found.toolCallId, found.toolName, found.state];
}
