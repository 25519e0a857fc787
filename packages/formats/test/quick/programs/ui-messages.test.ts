import { describe, expect, it } from "vitest";
import { jsonl, sessionOf, sessionsOf } from "../../../../../test/cli/read.js";

const hello = { id: "a", role: "user", parts: [{ type: "text", text: "hello there" }] };
const reply = {
  id: "b",
  role: "assistant",
  metadata: { model: "m" },
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "hm" },
    {
      type: "tool-weather",
      toolCallId: "c",
      state: "output-available",
      input: { city: "Oslo" },
      output: { degrees: 3 },
    },
    { type: "source-url", sourceId: "s", url: "https://example.com" },
    { type: "text", text: "3 degrees" },
  ],
};

describe("AI SDK messages", () => {
  it("are read unchanged from a list, an object, a line each and a list of lists", async () => {
    const texts = [
      JSON.stringify([hello, reply]),
      JSON.stringify({ messages: [hello, reply] }, null, 2),
      jsonl([hello, reply]),
      JSON.stringify([[hello, reply]]),
      jsonl([{ messages: [hello, reply] }]),
    ];
    for (const text of texts) {
      const session = await sessionOf(text);
      expect(session.messages.map(({ message }) => message)).toEqual([hello, reply]);
      expect(session.messages.map(({ parentId }) => parentId)).toEqual([null, "a"]);
      expect(session.skipped).toEqual([]);
    }
  });

  it("come as one session per list, with the id and the title that it has", async () => {
    const sessions = await sessionsOf(
      JSON.stringify([{ id: "s1", title: "Weather", messages: [hello, reply] }, { messages: [hello] }]),
    );
    expect(sessions.map(({ id, name }) => ({ id, name }))).toEqual([
      { id: "s1", name: "Weather" },
      { id: expect.stringMatching(/^chat-2-[0-9a-f]{8}$/), name: "hello there" },
    ]);
  });

  it("get an id where they have none: the same each time, another one for another place", async () => {
    const { id: _, ...anonymous } = hello;
    const text = JSON.stringify([anonymous, anonymous]);
    const [first, second] = (await sessionOf(text)).messages.map(({ message }) => message.id);
    expect((await sessionOf(text)).messages.map(({ message }) => message.id)).toEqual([first, second]);
    expect(first).not.toBe(second);
    const grown = await sessionOf(JSON.stringify([anonymous, anonymous, reply]));
    expect(grown.id).toBe((await sessionOf(text)).id);
    expect(grown.messages.map(({ message }) => message.id)).toEqual([first, second, "b"]);
  });

  it("are left out, and named, where they cannot be read", async () => {
    const text = jsonl([hello, { id: "x", role: "user", words: "?" }, { ...hello }, reply, { id: "y" }]);
    const session = await sessionOf(text);
    expect(session.messages.map(({ message, parentId }) => [message.id, parentId])).toEqual([
      ["a", null],
      ["b", "a"],
    ]);
    expect(session.skipped).toEqual([
      { line: 5, why: "neither a message nor a list of messages" },
      { line: 2, why: "the message has no parts" },
      { line: 3, why: 'the id "a" stands in the file twice; the first is kept' },
    ]);
  });
});
