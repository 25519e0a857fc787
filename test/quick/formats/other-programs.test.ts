import { describe, expect, it } from "vitest";
import { importSession } from "../../../packages/formats/src/import/import-session.js";
import type { ParsedSession } from "../../../packages/formats/src/stemma/session-file.js";
import { memory } from "../../../packages/store/src/memory.js";
import { jsonl, sessionsOf } from "../../cli/read.js";

const time = "2026-10-01T10:00:00.000Z";

async function stored(text: string) {
  const store = memory();
  const sessions = await sessionsOf(text);
  for (const session of sessions) await importSession(store, session);
  const [first] = sessions as [ParsedSession];
  const session = store.session(first.id);
  const { messages } = await session.path();
  return {
    store,
    session,
    first,
    messages,
    words: messages.map(({ parts }) => parts.map((part) => part.text).join("|")),
  };
}

describe("a session of Gemini CLI", () => {
  const start = { sessionId: "gem", projectHash: "hash", startTime: time, lastUpdated: time };
  const said = (id: string, type: string, content: unknown, fields: object = {}) => ({
    id,
    timestamp: time,
    type,
    content,
    ...fields,
  });

  it("is read from one object as from lines", async () => {
    const messages = [said("a", "user", "One"), said("b", "gemini", [{ text: "Two" }], { model: "gemini-x" })];
    for (const text of [JSON.stringify({ ...start, messages }, null, 2), jsonl([start, ...messages])]) {
      const { words, first } = await stored(text);
      expect(words).toEqual(["One", "Two"]);
      expect(first).toMatchObject({ id: "gem", model: "gemini-x", source: "gemini" });
    }
  });

  it("takes a message that comes again in its place, a rewind as a branch, and notices as what is kept beside them", async () => {
    const call = { id: "c1", name: "ls", args: {}, status: "executing", timestamp: time };
    const done = { ...call, status: "success", result: [{ functionResponse: { response: { output: "a.txt" } } }] };
    const lines = [
      start,
      said("a", "user", "One"),
      said("b", "gemini", "", { toolCalls: [call] }),
      said("b", "gemini", "Two", { toolCalls: [done], tokens: { input: 10, output: 5, thoughts: 1, total: 16 } }),
      said("n", "info", "Updated"),
      said("c", "user", "Three"),
      { $rewindTo: "c" },
      said("d", "user", "Four"),
      { $set: { summary: "Files" } },
      { $rewindTo: "gone" },
    ];
    const { words, first, session, messages } = await stored(jsonl(lines));
    expect(words).toEqual(["One", "Two|", "Four"]);
    expect(messages[1]?.parts[1]).toMatchObject({ toolName: "ls", state: "output-available", output: "a.txt" });
    expect(await session.branches("b")).toHaveLength(2);
    expect(first).toMatchObject({ name: "Files", usage: { inputTokens: 10, outputTokens: 6 } });
    expect(first.skipped).toEqual([{ line: 10, why: "it leads back to a message that is not there" }]);
  });

  it("completes a message when the file has grown", async () => {
    const call = { id: "c1", name: "ls", args: {}, status: "executing", timestamp: time };
    const done = { ...call, status: "success", result: "a.txt" };
    const lines = [start, said("a", "user", "One"), said("b", "gemini", "", { toolCalls: [call] })];
    const store = memory();
    for (const session of await sessionsOf(jsonl(lines))) await importSession(store, session);
    const grown = [...lines, said("b", "gemini", "", { toolCalls: [done] })];
    for (const session of await sessionsOf(jsonl(grown)))
      expect(await importSession(store, session)).toMatchObject({ inserted: 0, updated: 1 });
    expect((await store.session("gem").message("b"))?.parts).toMatchObject([{ output: "a.txt" }]);
  });
});

describe("a session of OpenCode", () => {
  const message = (id: string, role: string, text: string, fields: object = {}) => ({
    info: { id, role, time: { created: 1.76e12 }, ...fields },
    parts: [{ id: `p${id}`, type: "text", text }],
  });
  const info = { id: "ses_1", title: "Files", directory: "/home/ada/mill", parentID: "ses_0" };

  it("has its folder, usage and parent, and ends before what was undone", async () => {
    const tokens = { input: 10, output: 5, reasoning: 1, cache: { read: 2, write: 3 } };
    const messages = [
      message("1", "user", "One"),
      message("2", "assistant", "Two", { modelID: "claude-x", cost: 0.5, tokens }),
      message("3", "user", "Three"),
    ];
    const { words, first, session } = await stored(
      JSON.stringify({ info: { ...info, revert: { messageID: "3" } }, messages }),
    );
    expect(words).toEqual(["One", "Two"]);
    expect(await session.count()).toBe(3);
    expect(first).toMatchObject({
      parentSessionId: "ses_0",
      metadata: { project: "mill" },
      usage: { inputTokens: 15, outputTokens: 6, cost: 0.5 },
    });
  });

  it("lays a summary over what was compacted", async () => {
    const asked = { info: { id: "3", role: "user" }, parts: [{ id: "p", type: "compaction", auto: true }] };
    const messages = [
      message("1", "user", "One"),
      message("2", "assistant", "Two"),
      asked,
      message("4", "assistant", "They counted.", { summary: true }),
      message("5", "user", "Three"),
    ];
    const { words, first } = await stored(JSON.stringify({ info, messages }));
    expect(words).toEqual(["They counted.", "Three"]);
    expect(first.skipped).toEqual([]);
  });
});

describe("a conversation of LibreChat", () => {
  it("has its branches, from a list and from a tree", async () => {
    const message = (messageId: string, parentMessageId: string, text: string) => ({
      messageId,
      parentMessageId,
      isCreatedByUser: messageId.startsWith("u"),
      text,
    });
    const [asked, first, second] = [message("u", "", "One"), message("a", "u", "Two"), message("b", "u", "Zwei")];
    const head = { conversationId: "libre", title: "Counting" };
    const files = [
      { ...head, messages: [asked, first, second] },
      { ...head, recursive: true, messages: [{ ...asked, children: [first, { ...second, children: [] }] }] },
    ];
    for (const file of files) {
      const { words, session } = await stored(JSON.stringify(file));
      expect(words).toEqual(["One", "Zwei"]);
      expect((await session.branches("u")).map(({ id }) => id)).toEqual(["a", "b"]);
    }
  });
});

describe("a chat of Open WebUI", () => {
  it("has its branches, pictures and the texts of documents", async () => {
    const messages = {
      u: {
        parentId: null,
        role: "user",
        content: "Sum up",
        files: [
          { type: "image", url: "data:image/png;base64,AAAA" },
          { type: "file", name: "bridge.txt", file: { data: { content: "The bridge is long." } } },
        ],
      },
      a: { parentId: "u", role: "assistant", content: "Long.", model: "x" },
      b: { parentId: "u", role: "assistant", content: '<details type="other">kept</details> Very long.', model: "y" },
    };
    const chat = { id: "webui", title: "Bridges", chat: { history: { messages, currentId: "b" } } };
    const { words, session, messages: path } = await stored(JSON.stringify([chat]));
    expect(words).toEqual([
      "Sum up||bridge.txt:\nThe bridge is long.",
      '<details type="other">kept</details> Very long.',
    ]);
    expect(path[0]?.parts[1]).toMatchObject({ type: "file", mediaType: "image/png" });
    expect(await session.branches("u")).toHaveLength(2);
  });
});

describe("a file that means harm", () => {
  const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

  it("is read in time that grows with its size, and reported where it is too deep", async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => index);
    const files = [
      // JSON.stringify would overflow at such a depth.
      `{"conversationId":"l","messages":[${many.map((index) => `{"messageId":"m${index}","text":"x","children":[`).join("")}${"]}".repeat(many.length)}]}`,
      JSON.stringify({ conversationId: "wide", messages: many.map((index) => ({ messageId: `${index}`, text: "x" })) }),
      JSON.stringify({
        id: "w",
        chat: { history: { messages: { a: { role: "user", content: '<details type="reasoning" '.repeat(20_000) } } } },
      }),
      JSON.stringify({
        id: "w",
        chat: {
          history: {
            messages: { a: { role: "user", content: `<details type="tool_calls" ${"a".repeat(500_000)}>x</details>` } },
          },
        },
      }),
      JSON.stringify({
        info: { id: "o" },
        messages: many.map((index) => ({
          info: { id: `${index % 5}`, role: "user" },
          parts: [{ type: "text", text: "x" }],
        })),
      }),
      JSON.stringify({
        contents: many.map(() => ({ role: "model", parts: [{ functionCall: { name: "f", args: {} } }] })),
      }),
      jsonl([
        { sessionId: "g", projectHash: "h" },
        ...many.map((index) => ({ id: `${index % 7}`, type: "user", content: "x" })),
      ]),
    ];
    for (const text of files) {
      const started = performance.now();
      const sessions = await sessionsOf(text);
      expect(sessions.length).toBeGreaterThan(0);
      expect(performance.now() - started, text.slice(0, 60)).toBeLessThan(20_000);
    }
    for (const text of [
      `{"sessionId":"g","projectHash":"h"}\n{"id":"a","type":"user","content":${deep(5000)}}\n{"id":"b","type":"user","content":"x"}\n`,
      `{"info":{"id":"o"},"messages":[{"info":{"id":"a","role":"user"},"parts":${deep(5000)}},{"info":{"id":"b","role":"user"},"parts":[{"type":"text","text":"x"}]}]}`,
      `{"id":"w","chat":{"history":{"messages":{"a":{"role":"user","content":${deep(5000)}},"b":{"role":"user","content":"x"}}}}}`,
      `{"conversationId":"l","messages":[{"messageId":"a","text":"y","content":${deep(5000)}},{"messageId":"b","text":"x"}]}`,
      `[{"role":"user","content":[{"type":"tool_use","id":"1","name":"f","input":${deep(5000)}}]},{"role":"user","content":[{"type":"thinking","thinking":"x"}]}]`,
    ]) {
      const [session] = await sessionsOf(text);
      expect(session?.skipped).toContainEqual(expect.objectContaining({ why: expect.stringContaining("too deep") }));
      expect(session?.messages).toHaveLength(1);
    }
  });
});
