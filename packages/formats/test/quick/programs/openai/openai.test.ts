import { convertToModelMessages, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { jsonl, sessionOf, sessionsOf } from "../../../../../../test/cli/read.js";
import { atOnce } from "../../../../../model/src/lib/event-loop.js";
import type { SessionMessage } from "../../../../../model/src/messages/message.js";
import { toOpenai } from "../../../../src/programs/openai/openai-export.js";

const call = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});

/** One of everything that the format has. */
const conversation = [
  { role: "system", content: "Be brief." },
  { role: "developer", content: "Speak French." },
  { role: "user", content: "Weather in Oslo and Rome?", name: "ada" },
  {
    role: "assistant",
    content: null,
    tool_calls: [call("c1", "weather", '{"city":"Oslo"}'), call("c2", "weather", '{"city": "Rome"}')],
  },
  { role: "tool", tool_call_id: "c2", name: "weather", content: "mild" },
  { role: "tool", tool_call_id: "c1", content: '{"degrees":3}' },
  { role: "assistant", content: "3 degrees and mild.", refusal: null },
  {
    role: "user",
    content: [
      { type: "text", text: "And this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
      { type: "image_url", image_url: { url: "https://example.com/a" } },
      { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,CCCC", filename: "a.pdf" } },
      { type: "file", file: { file_id: "file-1" } },
    ],
  },
  // The same call id again, a spaced JSON result, and text beside the call.
  { role: "assistant", content: "Looking.", tool_calls: [call("c1", "look", "not json")] },
  { role: "tool", tool_call_id: "c1", content: '{"a": 1}' },
  { role: "assistant", content: null, refusal: "I will not say." },
  { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
  { role: "assistant", content: "", tool_calls: null, function_call: { name: "old", arguments: "{}" } },
  { role: "function", name: "old", content: "done" },
  { role: "tool", tool_call_id: "nobody", content: "lost" },
  { role: "assistant", tool_calls: [call("c9", "open", "{}")] },
  { role: "user", content: "", extra: { kept: true } },
];

describe("OpenAI chat messages", () => {
  it("come back equal from an export", async () => {
    for (const text of [
      JSON.stringify(conversation),
      jsonl(conversation),
      JSON.stringify({ messages: conversation }, null, 1),
    ]) {
      const session = await sessionOf(text);
      // A file that is elsewhere, and a result without its call.
      expect(session.skipped.map(({ why }) => why)).toEqual([
        expect.stringMatching(/^content of the type "file": /),
        expect.stringMatching(/^content of the type "tool": /),
      ]);
      expect(atOnce(toOpenai(messagesOf(session)))).toEqual({ messages: conversation });
    }
  });

  it("become messages of the AI SDK, with the results of tools in the calls they belong to", async () => {
    const messages = messagesOf(await sessionOf(JSON.stringify(conversation)));
    expect(messages.map(({ role }) => role).slice(0, 6)).toEqual([
      "system",
      "system",
      "user",
      "assistant",
      "assistant",
      "user",
    ]);
    expect(messages[2]).toMatchObject({ metadata: { name: "ada" } });
    expect(messages[3]?.parts).toEqual([
      {
        type: "dynamic-tool",
        toolName: "weather",
        toolCallId: "c1",
        state: "output-available",
        input: { city: "Oslo" },
        output: { degrees: 3 },
      },
      {
        type: "dynamic-tool",
        toolName: "weather",
        toolCallId: "c2",
        state: "output-available",
        input: { city: "Rome" },
        output: "mild",
      },
    ]);
    expect(messages[5]?.parts.map(({ type, mediaType }) => mediaType ?? type)).toEqual([
      "text",
      "image/png",
      "image/*",
      "audio/wav",
      "application/pdf",
      "data-openai",
    ]);
    expect(messages[6]?.parts[1]).toMatchObject({ input: "not json", output: '{"a": 1}', state: "output-available" });
    expect(messages.at(-2)?.parts[0]).toMatchObject({ state: "input-available" });
    await expect(convertToModelMessages(messages as unknown as UIMessage[])).resolves.toBeInstanceOf(Array);
  });

  it("have a result in the latest call of its id that waits for one", async () => {
    const asked = { role: "assistant", content: null, tool_calls: [call("c", "f", "{}")] };
    const messages = messagesOf(
      await sessionOf(JSON.stringify([asked, asked, { role: "tool", tool_call_id: "c", content: "r" }])),
    );
    expect(messages.map(({ parts }) => parts[0]?.state)).toEqual(["input-available", "output-available"]);
  });

  it("are read run by run from a list of runs, whose other fields come back too", async () => {
    const runs = [
      { task_id: 1, reward: 0.5, traj: conversation.slice(0, 7), trial: 0 },
      { task_id: 1, reward: 1, traj: conversation.slice(2, 7), trial: 1 },
    ];
    const sessions = await sessionsOf(JSON.stringify(runs), { stem: "bench" });
    expect(sessions.map(({ id }) => id)).toEqual([
      expect.stringMatching(/^bench-1-/),
      expect.stringMatching(/^bench-2-/),
    ]);
    expect(sessions.map((session) => atOnce(toOpenai(messagesOf(session))))).toEqual(runs);
  });

  it("are made of messages that never were in that form", () => {
    const messages: SessionMessage[] = [
      {
        id: "1",
        role: "user",
        parts: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "hm" },
          { type: "tool-add", toolCallId: "c", state: "output-available", input: { a: 1 }, output: { sum: 2 } },
          { type: "tool-add", toolCallId: "d", state: "output-error", input: { a: 2 }, errorText: "too big" },
          { type: "step-start" },
          { type: "text", text: "two" },
          { type: "source-url", url: "https://example.com" },
        ],
      },
      { id: "3", role: "assistant", parts: [] },
    ];
    expect(atOnce(toOpenai(messages))).toEqual({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [call("c", "add", '{"a":1}'), call("d", "add", '{"a":2}')] },
        { role: "tool", tool_call_id: "c", content: '{"sum":2}' },
        { role: "tool", tool_call_id: "d", content: "too big" },
        { role: "assistant", content: "two" },
        { role: "assistant", content: null },
      ],
    });
  });

  it("give the changed text of a message that was edited after the import", async () => {
    const messages = messagesOf(await sessionOf(JSON.stringify(conversation)));
    const edited = messages.with(4, { ...(messages[4] as SessionMessage), parts: [{ type: "text", text: "Cold." }] });
    expect(atOnce(toOpenai(edited)).messages).toEqual(
      conversation.with(6, { role: "assistant", content: "Cold.", refusal: null }),
    );
  });
});

function messagesOf(session: { messages: { message: SessionMessage }[] }): SessionMessage[] {
  return session.messages.map(({ message }) => message);
}
