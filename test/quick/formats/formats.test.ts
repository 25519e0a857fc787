// One file, so that formats are compared side by side: the same reads and the same import for each.
import { describe, expect, it } from "vitest";
import { importSession } from "../../../packages/formats/src/import/import-session.js";
import { readSessions } from "../../../packages/formats/src/read.js";
import type { ParsedSession } from "../../../packages/formats/src/stemma/session-file.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { collect, jsonl, sessionsOf } from "../../cli/read.js";
import { call, Transcript, text } from "../../formats/claude-code-lines.js";

const ID = "11111111-1111-4111-8111-111111111111";

async function imported(sessions: readonly ParsedSession[], store: Store = memory()): Promise<Store> {
  for (const session of sessions) await importSession(store, session);
  return store;
}

function claudeCode(): Transcript {
  const transcript = new Transcript(ID);
  const asked = transcript.user(null, "List the files");
  const thought = transcript.assistant(asked, "msg_1", { type: "thinking", thinking: "Use ls", signature: "sig" });
  const called = transcript.assistant(thought, "msg_1", call("c1", { command: "ls" }));
  const result = transcript.result(called, "c1", "a.txt");
  transcript.assistant(result, "msg_2", text("One file: a.txt"));
  return transcript;
}

describe("Claude Code", () => {
  it("makes one message of an answer, with its calls and their results", async () => {
    const [session] = await sessionsOf(jsonl(claudeCode().lines), { stem: ID });
    expect(session).toMatchObject({
      id: ID,
      name: "List the files",
      source: "claude-code",
      model: "claude-sonnet-5-5",
      metadata: { project: "mill", cwd: "/home/ada/mill" },
      usage: { inputTokens: 30, outputTokens: 6, cost: 0 },
      usageRows: [{ day: "2025-10-09", model: "claude-sonnet-5-5", requests: 2, inputTokens: 30, outputTokens: 6 }],
      skipped: [],
    });
    expect(session?.messages.map(({ message: { role, parts, createdAt } }) => ({ role, parts, createdAt }))).toEqual([
      { role: "user", parts: [{ type: "text", text: "List the files" }], createdAt: "2025-10-09T08:53:21.000Z" },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "Use ls", providerMetadata: { anthropic: { signature: "sig" } } },
          {
            type: "dynamic-tool",
            toolName: "Bash",
            toolCallId: "c1",
            state: "output-available",
            input: { command: "ls" },
            output: "a.txt",
          },
        ],
        createdAt: "2025-10-09T08:53:22.000Z",
      },
      { role: "assistant", parts: [{ type: "text", text: "One file: a.txt" }], createdAt: "2025-10-09T08:53:25.000Z" },
    ]);
  });

  it("keeps every line beside the messages, less what they hold", async () => {
    const { lines } = claudeCode();
    lines.push({ type: "mode", mode: "plan", sessionId: ID });
    const store = await imported(await sessionsOf(jsonl(lines), { stem: ID }));
    const records = await store.records.list({ sessionId: ID, label: "imported" });
    const kept = records.map(({ value }) => JSON.parse(new TextDecoder().decode(value)));
    expect(kept).toHaveLength(lines.length);
    const result = kept.find(({ line }) => line === 4);
    expect(result.source).toEqual({ ...lines[3], message: { role: "user" } });
    expect(kept.find(({ line }) => line === 6).source).toEqual(lines[5]);
  });

  it("makes sessions of sub-agents, in files of their own and in that of their session", async () => {
    const { lines } = claudeCode();
    const agent = new Transcript(ID);
    agent.user(null, "Look around", { isSidechain: true, agentId: "a1" });
    const [own] = await sessionsOf(jsonl(agent.lines), { stem: "agent-a1" });
    expect(own).toMatchObject({ id: `${ID}/agent-a1`, parentSessionId: ID, name: "Look around" });
    const inside = await sessionsOf(jsonl([...lines, ...agent.lines.map((line) => ({ ...line, uuid: "x" }))]), {
      stem: ID,
    });
    expect(inside.map(({ id, parentSessionId }) => [id, parentSessionId])).toEqual([
      [ID, undefined],
      [`${ID}/agent-a1`, ID],
    ]);
  });

  it("lays a summary over what was compacted, with the originals beneath it", async () => {
    const transcript = claudeCode();
    const last = transcript.lines.at(-1)?.uuid as string;
    const summary = transcript.compaction(last, "They listed files.");
    transcript.user(summary, "Go on");
    const store = await imported(await sessionsOf(jsonl(transcript.lines), { stem: ID }));
    const { messages } = await store.session(ID).path();
    expect(messages.map(({ parts }) => parts.at(-1)?.text)).toEqual(["They listed files.", "Go on"]);
    const [compaction] = await store.session(ID).compactions();
    expect(compaction?.createdAt).toBe("2025-10-09T08:53:27.000Z");
    expect(await store.session(ID).originals(compaction?.id ?? "")).toHaveLength(4);
  });

  it("adds what a file grew by, wherever it was cut, and nothing when it is read again", async () => {
    const transcript = claudeCode();
    transcript.other({ type: "custom-title", customTitle: "Files" });
    const whole = await imported(await sessionsOf(jsonl(transcript.lines), { stem: ID }));
    const grown = memory();
    for (let length = 1; length <= transcript.lines.length; length += 1) {
      await imported(await sessionsOf(jsonl(transcript.lines.slice(0, length)), { stem: ID }), grown);
    }
    const read = async (store: Store) => [
      await collect(store.session(ID).messages()).then((all) =>
        all.map(({ message, parentId }) => [message, parentId]),
      ),
      (await store.session(ID).leaf())?.id,
      (await store.records.list({ sessionId: ID, label: "imported" })).map(({ key }) => key),
    ];
    expect(await read(grown)).toEqual(await read(whole));
    const info = await grown.sessions.get(ID);
    expect(info).toMatchObject({ name: "Files", input_tokens: 30, output_tokens: 6 });
    const before = await grown.session(ID).change();
    const [again] = await sessionsOf(jsonl(transcript.lines), { stem: ID });
    if (again === undefined) throw new RangeError("no session");
    expect(await importSession(grown, again)).toMatchObject({
      messages: 3,
      inserted: 0,
      updated: 0,
      kept: { "custom-title": 1 },
    });
    expect(await grown.session(ID).change()).toBe(before);
  });

  it("reads what a file that was cut in the middle holds before that", async () => {
    const bytes = new TextEncoder().encode(jsonl(claudeCode().lines).replace("One file", "Ein Fäßchen"));
    for (const missing of [3, 40, 700]) {
      const [session] = await collect(readSessions(chunks(bytes.subarray(0, -missing)), { name: `${ID}.jsonl` }));
      expect(session?.messages.length).toBeGreaterThanOrEqual(2);
      expect(session?.skipped).toMatchObject([{ why: expect.stringContaining("not JSON") }]);
    }
  });
});

describe("Codex", () => {
  const at = (second: number) => `2026-10-01T10:00:${String(second).padStart(2, "0")}.000Z`;
  const item = (second: number, payload: object) => ({ timestamp: at(second), type: "response_item", payload });
  const event = (second: number, payload: object) => ({ timestamp: at(second), type: "event_msg", payload });
  const said = (second: number, role: string, words: string) =>
    item(second, {
      type: "message",
      role,
      content: [{ type: role === "user" ? "input_text" : "output_text", text: words }],
    });
  const meta = {
    timestamp: at(0),
    type: "session_meta",
    payload: { id: ID, cwd: "C:\\work\\mill\\", cli_version: "1.0", parent_thread_id: "parent" },
  };
  const usage = { input_tokens: 7, output_tokens: 2 };
  const lines = [
    meta,
    said(1, "user", "<environment_context>…</environment_context>"),
    { timestamp: at(2), type: "turn_context", payload: { model: "gpt-5-codex" } },
    said(3, "user", "List the files"),
    event(3, { type: "user_message", message: "List the files" }),
    item(4, { type: "reasoning", summary: [{ type: "summary_text", text: "Use ls" }], encrypted_content: "enc" }),
    item(5, { type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" }),
    item(6, { type: "function_call_output", call_id: "c1", output: "a.txt" }),
    said(7, "assistant", "One file: a.txt"),
    event(7, { type: "token_count", info: { total_token_usage: usage, last_token_usage: usage } }),
    event(7, { type: "token_count", info: { total_token_usage: usage, last_token_usage: usage } }),
    said(8, "user", "Delete it"),
    said(9, "assistant", "Deleted"),
    event(10, { type: "thread_rolled_back", num_turns: 1 }),
    said(11, "user", "Keep it"),
    event(12, { type: "mystery", words: 1 }),
  ];

  it("reads items into messages, with calls and their results, and rollbacks as branches", async () => {
    const [session] = await sessionsOf(jsonl(lines));
    expect(session).toMatchObject({
      id: ID,
      name: "List the files",
      model: "gpt-5-codex",
      parentSessionId: "parent",
      metadata: { project: "mill", cwd: "C:\\work\\mill\\" },
      usage: { inputTokens: 7, outputTokens: 2 },
    });
    const store = await imported(session === undefined ? [] : [session]);
    const { messages } = await store.session(ID).path();
    expect(
      messages.map(({ role, parts }) => [
        role,
        ...parts.map(({ type, text: words, output }) => words ?? output ?? type),
      ]),
    ).toEqual([
      ["user", "<environment_context>…</environment_context>"],
      ["user", "List the files"],
      ["assistant", "Use ls", "a.txt"],
      ["assistant", "One file: a.txt"],
      ["user", "Keep it"],
    ]);
    expect(await store.session(ID).branches(messages[3]?.id ?? "")).toHaveLength(2);
    expect(messages[2]?.createdAt).toBe(at(4));
    const report = session === undefined ? null : await importSession(store, session);
    expect(report).toMatchObject({ messages: 7, inserted: 0, updated: 0, kept: { mystery: 1 }, skipped: [] });
  });

  it("lays a summary over what was compacted, which a rollback before it does not show", async () => {
    const compacted = { timestamp: at(12), type: "compacted", payload: { message: "They listed files." } };
    const store = await imported(await sessionsOf(jsonl([...lines, compacted, said(13, "user", "Go on")])));
    const shown = async () => (await store.session(ID).path()).messages.map(({ parts }) => parts.at(-1)?.text);
    expect(await shown()).toEqual(["They listed files.", "Go on"]);
    const rolled = [
      ...lines,
      compacted,
      said(13, "user", "Go on"),
      event(14, { type: "thread_rolled_back", num_turns: 2 }),
    ];
    await imported(await sessionsOf(jsonl([...rolled, said(15, "user", "Anew")])), store);
    expect((await shown()).at(-1)).toBe("Anew");
    expect(await shown()).toContain("One file: a.txt");
  });

  it("reads the first versions, which had no envelope", async () => {
    const [session] = await sessionsOf(
      jsonl([
        { id: ID, timestamp: at(0), instructions: null },
        { record_type: "state" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
      ]),
    );
    expect(session).toMatchObject({ id: ID, name: "Hello", messages: [{ message: { role: "user" } }] });
  });
});

describe("ChatGPT's export", () => {
  const node = (id: string, parent: string | null, role: string, content: object, fields: object = {}) => ({
    id,
    parent,
    children: [],
    message: {
      id,
      author: { role },
      content,
      create_time: 1_760_000_000.5,
      metadata: { model_slug: "gpt-5" },
      ...fields,
    },
  });
  const words = (...parts: unknown[]) => ({ content_type: "text", parts });
  const nodes = [
    node("a2", "u1", "assistant", words("Second answer")),
    node(
      "u1",
      "root",
      "user",
      words("What is it?", { content_type: "image_asset_pointer", asset_pointer: "file-service://x" }),
    ),
    node("a1", "u1", "assistant", words("First answer")),
    { id: "root", parent: null, children: [], message: null },
    node("c1", "a2", "assistant", { content_type: "code", language: "python", text: "1+1" }, { recipient: "python" }),
    node("r1", "c1", "tool", { content_type: "execution_output", text: "2" }),
    node("a3", "r1", "assistant", words("It is 2")),
  ];
  const conversation = {
    conversation_id: "conv",
    title: "Sums",
    current_node: "a3",
    mapping: Object.fromEntries(nodes.map((each) => [each.id, each])),
  };

  it("reads the tree, calls with their results, times and models", async () => {
    const sessions = await sessionsOf(JSON.stringify([conversation, 5]));
    expect(sessions[0]).toMatchObject({ id: "conv", name: "Sums", model: "gpt-5", source: "chatgpt" });
    const store = await imported(sessions.slice(0, 1));
    const { messages } = await store.session("conv").path();
    expect(messages.map(({ id }) => id)).toEqual(["u1", "a2", "c1", "a3"]);
    expect(messages[2]?.parts).toMatchObject([
      { toolName: "python", state: "output-available", input: "1+1", output: "2" },
    ]);
    expect(messages[3]).toMatchObject({ createdAt: "2025-10-09T08:53:20.500Z", metadata: { model: "gpt-5" } });
    expect((await store.session("conv").branches("u1")).map(({ id }) => id).sort()).toEqual(["a1", "a2"]);
    expect(sessions[1]).toMatchObject({ messages: [], skipped: [{ why: "not a conversation" }] });
  });
});

describe("the export of Claude's apps", () => {
  const root = "00000000-0000-4000-8000-000000000000";
  const message = (uuid: string, parent: string, sender: string, fields: object) => ({
    uuid,
    sender,
    created_at: "2026-01-02T03:04:05.000000Z",
    parent_message_uuid: parent,
    ...fields,
  });
  const conversation = {
    uuid: "conv",
    name: "Bridges",
    created_at: "2026-01-02T03:04:05Z",
    chat_messages: [
      message("u1", root, "human", {
        text: "Sum up",
        attachments: [{ file_name: "bridge.txt", extracted_content: "The bridge is long." }],
      }),
      message("a1", "u1", "assistant", {
        content: [
          { type: "tool_use", name: "web_search", input: { query: "bridge" } },
          { type: "tool_result", name: "web_search", content: [{ type: "text", text: "long" }] },
          { type: "text", text: "It is long." },
          { type: "token_budget" },
        ],
      }),
      message("u2", root, "human", { text: "Sum up shortly" }),
      message("a2", "u2", "assistant", { content: [{ type: "text", text: "Long." }] }),
    ],
  };

  it("reads messages with their branches, calls and attachments", async () => {
    const [session] = await sessionsOf(JSON.stringify([conversation]));
    const store = await imported(session === undefined ? [] : [session]);
    const { messages } = await store.session("conv").path();
    expect(messages.map(({ id }) => id)).toEqual(["u2", "a2"]);
    expect((await store.session("conv").message("a1"))?.parts).toMatchObject([
      { toolName: "web_search", state: "output-available", output: "long" },
      { text: "It is long." },
      { type: "data-claude" },
    ]);
    expect((await store.session("conv").message("u1"))?.parts[1]?.text).toBe("bridge.txt:\nThe bridge is long.");
    expect(session === undefined ? null : await importSession(store, session)).toMatchObject({
      kept: { "content block": 1 },
    });
  });
});

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 100) yield bytes.subarray(start, start + 100);
}
