import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionMessage, SessionMessagePart } from "../../../../model/src/messages/message.js";
import { fromSDKMessages, toSDKMessages } from "../../../src/messages/sdk-message.js";
import type { ContentBlock, SDKMessage } from "../../../src/types.js";

// As JSON gives it back: without -0.
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));

const ui = (parts: object[], extra: object = {}): SessionMessage => {
  return { id: "m", role: "assistant", parts: parts as SessionMessagePart[], ...extra };
};

describe("stored messages in the documented shape", () => {
  it("says a plain text as a text, a call and its result as two messages", () => {
    const messages = [
      ui([{ type: "text", text: "Hi" }], { id: "u", role: "user" }),
      ui([
        { type: "text", text: "Looking" },
        { type: "tool-weather", toolCallId: "c", state: "output-available", input: { city: "Bern" }, output: "Rain" },
      ]),
    ];
    expect(toSDKMessages(messages)).toEqual([
      { id: "u", role: "user", content: "Hi" },
      {
        id: "m",
        role: "assistant",
        content: [
          { type: "text", text: "Looking" },
          { type: "tool_use", id: "c", name: "weather", input: { city: "Bern" } },
        ],
      },
      { id: "m#results", role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "Rain" }] },
    ]);
  });

  it("says an image as an image block, and an error as an error", () => {
    const [image] = toSDKMessages([
      ui([
        { type: "file", mediaType: "image/png", url: "data:image/png;base64,aGk=" },
        { type: "text", text: "See" },
      ]),
    ]);
    expect(image?.content).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
      { type: "text", text: "See" },
    ]);
    const [, result] = toSDKMessages([
      ui([{ type: "tool-x", toolCallId: "c", state: "output-error", input: {}, errorText: "No" }]),
    ]);
    expect(result?.content).toEqual([{ type: "tool_result", tool_use_id: "c", content: "No", is_error: true }]);
  });

  it("says calls and results that stand apart as blocks, and gives the same messages back", () => {
    const messages = [
      ui([{ type: "tool-call", toolCallId: "c", toolName: "weather", input: { city: "Bern" } }]),
      ui([{ type: "tool-result", toolCallId: "c", toolName: "weather", output: { rain: 1 } }], {
        id: "r",
        role: "tool",
      }),
      ui([{ type: "tool-error", toolCallId: "d", errorText: "No" }], { id: "e", role: "user" }),
    ];
    const said = toSDKMessages(messages);
    expect(said.map(({ role, content }) => [role, content])).toEqual([
      ["assistant", [{ type: "tool_use", id: "c", name: "weather", input: { city: "Bern" } }]],
      ["user", [{ type: "tool_result", tool_use_id: "c", content: '{"rain":1}', json: true }]],
      ["user", [{ type: "tool_result", tool_use_id: "d", content: "No", is_error: true }]],
    ]);
    expect(fromSDKMessages(said)).toEqual(messages);
  });

  it("gives every stored message back, whatever its parts", () => {
    const part = fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.string() }),
      fc.record({ type: fc.constant("text"), text: fc.string(), providerMetadata: fc.dictionary(fc.string(), json) }),
      fc.record({ type: fc.constant("reasoning"), text: fc.string() }),
      fc.constant({ type: "step-start" }),
      fc.record({
        type: fc.constant("file"),
        mediaType: fc.constantFrom("image/png", "image/*", "text/plain"),
        url: fc.constantFrom("data:image/png;base64,AA==", "https://x.y/z", "data:,"),
      }),
      fc.record({ type: fc.constant("data-note"), data: json }),
      fc.record({
        type: fc.constantFrom("tool-a", "tool-b", "dynamic-tool"),
        toolName: fc.constant("d"),
        toolCallId: fc.constantFrom("1", "2", "3"),
        state: fc.constantFrom(
          "input-streaming",
          "input-available",
          "output-available",
          "output-error",
          "output-denied",
        ),
        input: json,
        output: json,
        errorText: fc.string(),
      }),
    );
    const message = fc.record(
      {
        id: fc.uuid(),
        role: fc.constantFrom("user", "assistant", "system"),
        parts: fc.array(part, { maxLength: 5 }),
        metadata: json,
        createdAt: fc.date({ noInvalidDate: true }),
      },
      { requiredKeys: ["id", "role", "parts"] },
    );
    fc.assert(
      fc.property(fc.uniqueArray(message, { selector: ({ id }) => id, maxLength: 6 }), (messages) => {
        const stored = messages as unknown as SessionMessage[];
        expect(fromSDKMessages(toSDKMessages(stored))).toEqual(stored);
      }),
    );
  });
});

describe("documented messages in the stored shape", () => {
  it("gives every documented message back, whatever its blocks, with an id where it had none", () => {
    const text = fc.record({ type: fc.constant("text" as const), text: fc.string() });
    const block: fc.Arbitrary<ContentBlock> = fc.oneof(
      text,
      fc.record({
        type: fc.constant("image" as const),
        source: fc.oneof(
          fc.record({
            type: fc.constant("base64" as const),
            media_type: fc.constant("image/png"),
            data: fc.base64String(),
          }),
          fc.record({ type: fc.constant("url" as const), url: fc.webUrl() }),
        ),
      }),
      fc.record({
        type: fc.constant("tool_use" as const),
        id: fc.constantFrom("1", "2"),
        name: fc.constant("a"),
        input: json,
      }),
      fc.record(
        {
          type: fc.constant("tool_result" as const),
          tool_use_id: fc.constantFrom("1", "2"),
          content: fc.oneof(fc.string(), fc.array(text, { maxLength: 2 })),
          is_error: fc.boolean(),
        },
        { requiredKeys: ["type", "tool_use_id", "content"] },
      ),
    );
    const message = fc.record(
      {
        id: fc.uuid(),
        role: fc.constantFrom("user" as const, "assistant" as const),
        content: fc.oneof(fc.string(), fc.array(block, { maxLength: 4 })),
        metadata: fc.dictionary(fc.string(), json),
      },
      { requiredKeys: ["role", "content"] },
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        const given = messages as SDKMessage[];
        const stored = fromSDKMessages(given);
        const back = toSDKMessages(stored);
        expect(back).toEqual(given.map((one, index) => ({ ...one, ...(one.id ? {} : { id: back[index]?.id }) })));
        // And after a storage has kept them as JSON.
        expect(toSDKMessages(JSON.parse(JSON.stringify(stored)) as SessionMessage[])).toEqual(back);
      }),
    );
  });

  it("keeps the ids of a call's and its result's message", () => {
    const messages: SDKMessage[] = [
      { id: "a", role: "assistant", content: [{ type: "tool_use", id: "c", name: "look", input: {} }] },
      { id: "b", role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "A cat" }] },
    ];
    const stored = fromSDKMessages(messages);
    expect(stored).toHaveLength(1);
    expect(toSDKMessages(stored)).toEqual(messages);
    // The runner's own are said without repeating them.
    const own = fromSDKMessages(
      messages.map((message, index) => ({ ...message, id: index === 0 ? "a" : "a#results" })),
    );
    expect(own[0]?.parts).toHaveLength(1);
  });

  it("does not believe a carried original once the message was edited", () => {
    const [carrying] = toSDKMessages([
      ui([{ type: "dynamic-tool", toolName: "x", toolCallId: "c", state: "input-available", input: 1 }]),
    ]);
    expect(carrying?.ui).toBeDefined();
    const edited = { ...carrying, content: "Something else" } as SDKMessage;
    expect(fromSDKMessages([edited])[0]?.parts).toMatchObject([{ type: "text", text: "Something else" }]);
    const [stored] = fromSDKMessages([{ role: "user", content: [{ type: "text", text: "One block" }] }]);
    const changed = { ...stored, parts: [{ type: "text", text: "Changed" }, stored?.parts.at(-1)] } as SessionMessage;
    expect(toSDKMessages([changed])[0]?.content).not.toEqual([{ type: "text", text: "One block" }]);
  });
});
