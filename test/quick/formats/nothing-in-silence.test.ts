// Every format side by side: what a reader does not understand is in the report, and what it understands is in the messages.
import { convertToModelMessages, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { importSession } from "../../../packages/formats/src/import/import-session.js";
import type { ParsedSession } from "../../../packages/formats/src/stemma/session-file.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { collect, jsonl, sessionsOf } from "../../cli/read.js";
import { EXAMPLES, textOf } from "../../formats/example-files.js";

/** Types of parts that a model is shown. */
const SHOWN = /^(text|reasoning|file|dynamic-tool|tool-\w+)$/;

/** What is read of a text: all that the parts of the path's messages say, how many say anything, and what was left out. */
async function read(text: string) {
  const sessions: ParsedSession[] = [];
  const report: string[] = [];
  try {
    sessions.push(...(await sessionsOf(text)));
  } catch (error) {
    report.push(String(error));
  }
  report.push(...sessions.flatMap(({ skipped }) => skipped.map(({ why }) => why)));
  const messages = sessions.flatMap((session) => (session.isUnread === true ? [] : session.messages));
  const parts = messages.flatMap(({ message }) => message.parts);
  const shown = parts.filter(({ type }) => SHOWN.test(type));
  const speaking = messages.filter(({ message }) => message.parts.some(({ type }) => SHOWN.test(type)));
  return { sessions, report, parts, shown: JSON.stringify(shown), messages: speaking.length };
}

describe.each(Object.entries(EXAMPLES))("a file of %s", (_, example) => {
  it("is recognised, and its calls, results and texts are parts that models see", async () => {
    const { sessions, report, shown, parts } = await read(textOf(example));
    expect(sessions.map(({ source }) => source)).toEqual([example.source]);
    expect(report).toEqual([]);
    expect(shown).toContain("Where does the heron nest?");
    expect(shown).toContain("In the reeds.");
    if (JSON.stringify(example.values).includes("I look it up."))
      expect(parts).toContainEqual(expect.objectContaining({ type: "reasoning" }));
    const call = parts.find(({ toolCallId }) => toolCallId !== undefined);
    if (example.withoutResults !== true)
      expect(call).toMatchObject({ state: "output-available", input: { city: "Oslo" }, output: "mild" });
    const messages = sessions.flatMap((session) => session.messages.map(({ message }) => message));
    await expect(convertToModelMessages(messages as unknown as UIMessage[])).resolves.toBeInstanceOf(Array);
  });

  it("adds nothing when it is imported again", async () => {
    const store = memory();
    for (const session of await sessionsOf(textOf(example))) await importSession(store, session);
    for (const session of await sessionsOf(textOf(example)))
      expect(await importSession(store, session)).toMatchObject({ inserted: 0, updated: 0 });
  });

  it("comes to the same where it is imported again each time that it has grown by a line", async () => {
    const [whole, grown] = [memory(), memory()];
    // An id that no line gives is derived from the first two messages.
    for (let length = Math.min(2, example.values.length); length <= example.values.length; length += 1) {
      for (const session of await sessionsOf(jsonl(example.values.slice(0, length))))
        await importSession(grown, session);
    }
    const [session] = await sessionsOf(textOf(example));
    if (session === undefined) throw new RangeError("no session");
    await importSession(whole, session);
    const stored = async (store: Store) =>
      (await collect(store.session(session.id).messages())).map(({ message }) => message.parts);
    expect(await stored(grown)).toEqual(await stored(whole));
  });

  it("names what is not understood, wherever it stands", async () => {
    const whole = await read(textOf(example));
    const silent: string[] = [];
    for (const { values, path } of mutations(example.values)) {
      const { shown, report, messages } = await read(jsonl(values));
      // Where something is missing, only a message that says nothing then is missed.
      const isLess = path.endsWith("= undefined") ? messages < whole.messages : shown.length < whole.shown.length;
      const isShown = /mystery|98765/.test(shown);
      if (isLess && !isShown && report.length === 0) silent.push(`${path}: ${shown}`);
    }
    expect(silent).toEqual([]);
  });

  it("is not imported where nothing of it is understood", async () => {
    const { sessions, report } = await read(jsonl(renamed(example.values) as unknown[]));
    expect(report.length).toBeGreaterThan(0);
    const store = memory();
    for (const session of sessions) expect(await importSession(store, session)).toBe(null);
  });
});

describe("what stands in another place than usual", () => {
  const heron = "Where does the heron nest?";

  it.each([
    ["a chat of Open WebUI without a history", { id: "chat", chat: { messages: [{ role: "user", content: heron }] } }],
    [
      "a chat of Open WebUI with an empty one",
      {
        id: "chat",
        chat: { history: { messages: {}, currentId: null }, messages: [{ id: "a", role: "user", content: heron }] },
      },
    ],
    [
      "the transcript of an answer that was spoken",
      { role: "assistant", content: null, audio: { id: "audio_1", transcript: heron }, refusal: null },
    ],
    [
      "a text given to Anthropic as a document",
      {
        role: "user",
        content: [
          { type: "document", source: { type: "text", media_type: "text/plain", data: heron }, title: "Birds" },
        ],
      },
    ],
  ])("is read: %s", async (_, value) => {
    const { shown, report } = await read(JSON.stringify([value]));
    expect(shown).toContain(heron);
    expect(report).toEqual([]);
  });

  it("has the messages of a list without ids one below the other, each time the same", async () => {
    const messages = ["One", "Two", "Three"].map((content, n) => ({ role: n === 1 ? "assistant" : "user", content }));
    const [first, second] = [
      await sessionsOf(JSON.stringify([{ id: "chat", chat: { messages } }])),
      await sessionsOf(JSON.stringify([{ id: "chat", chat: { messages } }])),
    ];
    expect(first[0]?.messages.map(({ parentId }) => parentId)).toEqual([null, "message-1", "message-2"]);
    expect(second).toEqual(first);
  });

  it("is a call of OpenAI's Agents SDK, with its result, under an id of its own", async () => {
    const { parts, report } = await read(
      jsonl([
        { type: "message", role: "user", content: heron },
        { type: "function_call", callId: "c1", name: "find", arguments: "{}" },
        { type: "function_call_result", callId: "c1", name: "find", output: { type: "text", text: "reeds" } },
        { type: "function_call", name: "find", arguments: "{}" },
        { type: "function_call", name: "find", arguments: "{}" },
      ]),
    );
    const calls = parts.filter(({ toolCallId }) => toolCallId !== undefined);
    expect(calls[0]).toMatchObject({ toolCallId: "c1", state: "output-available", output: "reeds" });
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(3);
    expect(report).toEqual([]);
  });

  it("is what a program sent beside the messages: kept, and told, under a role that models take", async () => {
    const { sessions, report } = await read(
      JSON.stringify([
        { id: "a", role: "user", content: heron, parts: [{ type: "text", text: heron }] },
        { id: "b", role: "data", content: "", data: { step: 1 } },
      ]),
    );
    const messages = sessions.flatMap((session) => session.messages.map(({ message }) => message));
    expect(messages[1]).toMatchObject({ id: "b", role: "assistant", parts: [{ data: { data: { step: 1 } } }] });
    expect(report).toEqual([expect.stringContaining('"data"')]);
    await expect(convertToModelMessages(messages as unknown as UIMessage[])).resolves.toBeInstanceOf(Array);
  });

  it("is a file of LibreChat: its text is read, and a picture is told", async () => {
    const files = [
      { filename: "birds.txt", type: "text/plain", text: heron },
      { filename: "x.png", type: "image/png", filepath: "/images/x.png" },
    ];
    const asked = { messageId: "1", isCreatedByUser: true, text: "", files };
    const { shown, report } = await read(JSON.stringify({ conversationId: "c", messages: [asked] }));
    expect(shown).toContain(heron);
    expect(report).toEqual([expect.stringContaining('"image/png"')]);
  });

  it("has an id of its own for each call of Claude's exports", async () => {
    const content = [1, 2].flatMap((n) => [
      { type: "tool_use", id: null, name: "artifacts", input: { n } },
      { type: "tool_result", tool_use_id: null, name: "artifacts", content: `OK ${n}` },
    ]);
    const said = ["a", "b"].map((uuid) => ({ uuid, sender: "assistant", text: "", content }));
    const { parts } = await read(JSON.stringify([{ uuid: "c", name: "", chat_messages: said }]));
    expect(parts.map(({ output }) => output)).toEqual(["OK 1", "OK 2", "OK 1", "OK 2"]);
    expect(new Set(parts.map(({ toolCallId }) => toolCallId)).size).toBe(4);
  });

  it("is the name that a user of Claude Code gave, whatever a model calls the session later", async () => {
    const line = {
      type: "user",
      uuid: "a",
      parentUuid: null,
      sessionId: "s",
      message: { role: "user", content: heron },
    };
    const named = { type: "custom-title", customTitle: "Birds", sessionId: "s" };
    const later = { type: "ai-title", aiTitle: "Nesting places", sessionId: "s" };
    const { sessions } = await read(jsonl([line, named, later]));
    expect(sessions[0]?.name).toBe("Birds");
  });
});

/** Fields that hold what was said, and the types that say how. */
const SAID = ["type", "text", "content", "parts", "message", "thinking", "think", "reasoning", "toolInvocations"];

/** Fields of a result of a tool. */
const RESULTS = ["tool_use_id", "tool_call_id", "toolCallId", "functionResponse"];

/** Each file in which one of these fields holds a value that no reader knows, or is missing. */
function* mutations(value: unknown[]): Generator<{ values: unknown[]; path: string }> {
  for (const { copy, path } of changed(value, "$")) yield { values: copy as unknown[], path };
}

function* changed(value: unknown, path: string): Generator<{ copy: unknown; path: string }> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const { copy, path: at } of changed(item, `${path}[${index}]`))
        yield { copy: value.with(index, copy), path: at };
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const object = value as Record<string, unknown>;
  // What a tool gave is stored whatever it is.
  if (RESULTS.some((field) => field in object) || object.role === "toolResult") return;
  for (const [key, item] of Object.entries(object)) {
    const at = `${path}.${key}`;
    if (SAID.includes(key)) {
      for (const bad of key === "type" ? ["mystery", 98765] : [{ mystery: 1 }, 98765, [{ type: "mystery" }], undefined])
        yield { copy: { ...object, [key]: bad }, path: `${at} = ${JSON.stringify(bad)}` };
    }
    for (const { copy, path: inner } of changed(item, at)) yield { copy: { ...object, [key]: copy }, path: inner };
  }
}

/** The file with another name for every field that says something. */
function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  const fields = [
    "text",
    "content",
    "parts",
    "thinking",
    "think",
    "thoughts",
    "output",
    "toolCalls",
    "toolInvocations",
    "tool_calls",
    "name",
    "tool_call",
    "recipient",
    "summary",
    "functionCall",
    "functionResponse",
    "arguments",
    "reasoning_content",
    "tool",
  ];
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [fields.includes(key) ? `${key}_x` : key, renamed(item)]),
  );
}
