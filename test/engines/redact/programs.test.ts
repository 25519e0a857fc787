// What each program and adapter that writes to a store leaves in it, with a redact.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { simulateReadableStream, tool, type UIMessage } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { createSession } from "../../../packages/stemma/src/agent.js";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { memoryTool } from "../../../packages/stemma/src/claude.js";
import { importSession, readSessionFile } from "../../../packages/stemma/src/formats.js";
import { StemmaChatMessageHistory } from "../../../packages/stemma/src/langchain.js";
import { StemmaSaver, StemmaStore } from "../../../packages/stemma/src/langgraph.js";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { createLearnFunction, Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../../packages/stemma/src/utils.js";
import type { Observed, Observer } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { observeStore } from "../../../packages/telemetry/src/observe-store.js";
import { turn } from "../../claude/transcripts.js";
import { cutChunks, everywhere, occurrences, redact, SECRET, said, TOLD } from "../../redact/canary.js";
import { calls, says, scripted, usage } from "../../runner/mock-model.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-redact-"));
const path = () => join(folder, `${files}.db`);
let files = 0;
let store = sqlite(":memory:");
const console_: string[] = [];

beforeEach(() => {
  files += 1;
  store = sqlite(path(), { redact, synchronous: "normal" });
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...values) => void console_.push(values.map(String).join(" ")));
  }
});
// Whatever a test did: nothing of it is in the files, or was printed.
afterEach(async () => {
  await store.close();
  const kept = ["", "-wal"]
    .filter((end) => existsSync(path() + end))
    .map((end) => readFileSync(path() + end, "latin1"));
  expect(kept.join("").length).toBeGreaterThan(1000);
  expect(occurrences(kept.join(""))).toBe(0);
  expect(occurrences(console_.join("\n"))).toBe(0);
  vi.restoreAllMocks();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("shows those who summarise, learn and name the redacted texts, and redacts what they give", async () => {
  const shown: string[] = [];
  const noted = <T>(given: unknown, answer: T): T => {
    shown.push(JSON.stringify(given));
    return answer;
  };
  const manager = SessionManager.create(store)
    .withContext("memory")
    .withContext("told", { provider: { get: async () => TOLD } })
    .withCachedPrompt()
    .onCompaction(
      createCompactFunction({
        summarize: async (given) => noted(given, TOLD),
        protectHead: 1,
        minTailMessages: 1,
        tailTokenBudget: 10,
      }),
    )
    .onLearning(
      createLearnFunction({
        extract: (given) => noted(given, [{ action: "add", label: "memory", content: TOLD, messageIds: ["a"] }]),
      }),
    )
    .withTitles((prompt, messages) => noted([prompt, messages], TOLD));
  await manager.create("", { id: "chat" });
  const session = manager.getSession("chat");
  for (const id of ["a", "c", "e", "g"]) {
    await session.appendMessage(said(id));
    await session.appendMessage({ ...everywhere(`${id}2`) });
  }
  await session.compact();
  await session.close();
  expect((await session.getCompactions()).map(({ summary }) => summary.includes("[key]"))).toEqual([true]);
  expect((await session.readContextBlock("memory"))?.content).toContain("[key]");
  expect((await store.sessions.get("chat"))?.name).toContain("[key]");
  expect(shown.length).toBeGreaterThanOrEqual(3);
  expect(occurrences(shown.join("\n"))).toBe(0);
});

it("asks the model with what is stored, the same in this process and in the next", async () => {
  const open = () =>
    Session.create(store)
      .forSession("chat")
      .withContext("notes", { provider: { get: async () => `${TOLD} ${changes}` } })
      .withCachedPrompt();
  let changes = "";
  const session = open();
  await session.appendMessage(said("a"));
  const first = await session.prepareTurn();
  changes = `and ${SECRET}`;
  await session.appendMessage({ id: "b", role: "assistant", parts: [{ type: "text", text: "Yes." }] });
  await session.appendMessage(said("c"));
  const here = await session.prepareTurn();
  const there = await open().prepareTurn();
  expect(occurrences(JSON.stringify([first.system, first.messages, here.system, here.messages]))).toBe(0);
  expect([there.system, there.messages]).toEqual([here.system, here.messages]);
});

const sleep = async (delay: number) => new Promise((resolve) => setTimeout(resolve, delay));

/** A model that says the secret in two pieces, thinks it, and calls a tool with it. */
function cutModel(at: number) {
  const input = JSON.stringify({ note: TOLD });
  const [head, tail] = [input.slice(0, 20 + at), input.slice(20 + at)];
  const call = [
    { type: "tool-input-start", id: "call", toolName: "look" },
    { type: "tool-input-delta", id: "call", delta: head },
    { type: "tool-input-delta", id: "call", delta: tail },
    { type: "tool-input-end", id: "call" },
    { type: "tool-call", toolCallId: "call", toolName: "look", input },
  ];
  let step = 0;
  return new MockLanguageModelV3({
    doStream: async () => {
      step += 1;
      const said = [...cutChunks(at), ...(step === 1 ? call : [])];
      const reason = step === 1 ? "tool-calls" : "stop";
      const end = { type: "finish", usage: usage(1, 1), finishReason: { unified: reason, raw: reason } };
      const chunks = [{ type: "stream-start", warnings: [] }, ...said, end] as never[];
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: 60, initialDelayInMs: null }) };
    },
  });
}

it("keeps no secret of an answer that is streamed, wherever it is cut, and tells another process the redacted one", async () => {
  const other = sqlite(path(), { redact, synchronous: "normal" });
  const given: string[] = [];
  const serve = (on: typeof store, at: number) =>
    chatHandler({
      sessions: SessionManager.create(on).withContext("memory"),
      model: cutModel(at),
      tools: {
        look: tool({
          inputSchema: z.object({ note: z.string() }),
          async *execute({ note }) {
            given.push(note);
            yield TOLD.slice(0, 15);
            await sleep(250);
            yield `found ${TOLD}`;
          },
        }),
      },
      authenticate: () => ({ userId: "ada" }),
    });
  const ask = (on: typeof store, at: number, way: string, body?: object) =>
    serve(on, at)(new Request(`http://x/api/chat${way}`, body && { method: "POST", body: JSON.stringify(body) }));
  const question: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: TOLD }] };
  const cuts = Array.from({ length: SECRET.length + 1 }, (_, at) => at);
  const body = (at: number) => ({ id: `chat-${at}`, messages: [question], trigger: "submit-message" });
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await sleep(40);
      for (const end of ["", "-wal"]) expect(occurrences(readFileSync(path() + end, "latin1"))).toBe(0);
    }
  })();
  const streams = await Promise.all(
    cuts.map(async (at) => {
      const response = await ask(store, at, "", body(at));
      await sleep(300);
      const [live, resumed] = await Promise.all([response.text(), (await ask(other, at, `/chat-${at}/stream`)).text()]);
      return { live, resumed };
    }),
  );
  isOver = true;
  await watching;
  for (const { live, resumed } of streams) {
    // The user who wrote it reads it as the model says it; what is stored is another thing.
    expect(occurrences(live)).toBeGreaterThan(0);
    expect(occurrences(resumed)).toBe(0);
    expect(resumed).toContain("[key]");
  }
  // The tool runs on what the model said, in which the prompt's secret was redacted before.
  expect(given.every((note) => note === TOLD)).toBe(true);
  const session = Session.create(store).forUser("ada").forSession("chat-3");
  const before = await session.getPathLength();
  // A client that repeats its question, with the secret that it still has, makes no branch.
  await (await ask(store, 3, "", body(3))).text();
  expect([await session.getPathLength(), (await session.getTree()).length]).toEqual([before, before]);
}, 60_000);

it("ends an answer that redact fails on, and answers the next question at once", async () => {
  const failing = sqlite(join(folder, "failing.db"), {
    redact: (text) => {
      if (text.includes(SECRET)) throw new Error("out of order");
      return text;
    },
  });
  let at = 0;
  const handler = chatHandler({
    sessions: SessionManager.create(failing),
    model: new MockLanguageModelV3({
      doStream: async () => {
        const said = at === 0 ? [...cutChunks(3)] : cutChunks(3).map((chunk) => ({ ...chunk, delta: "well" }));
        at += 1;
        const end = { type: "finish", usage: usage(1, 1), finishReason: { unified: "stop", raw: "stop" } };
        const chunks = [{ type: "stream-start", warnings: [] }, ...said, end] as never[];
        return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) };
      },
    }),
    authenticate: () => ({ userId: "ada" }),
  });
  const ask = async (id: string) => {
    const messages: UIMessage[] = [{ id, role: "user", parts: [{ type: "text", text: "hello" }] }];
    const body = JSON.stringify({ id: "chat", messages, trigger: "submit-message" });
    return (await handler(new Request("http://x/api/chat", { method: "POST", body }))).text();
  };
  expect(await ask("q")).toContain('"type":"error"');
  await sleep(50);
  const page = await (await handler(new Request("http://x/api/chat/chat"))).json();
  expect(page.run.status).toBe("failed");
  const began = performance.now();
  expect(await ask("q2")).not.toContain('"type":"error"');
  expect(performance.now() - began).toBeLessThan(5000);
  await failing.close();
});

it("keeps checkpoints of LangGraph without the secret, and shares what did not change", async () => {
  const saver = new StemmaSaver(store);
  const config = (id?: string) => ({ configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: id } });
  const messages = [
    new HumanMessage({ id: "h", content: TOLD }),
    new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c", name: "look", args: { note: TOLD } }] }),
    new ToolMessage({ id: "r", tool_call_id: "c", content: TOLD }),
  ];
  let parent = config();
  for (let step = 0; step < 3; step += 1) {
    const channel_values = { messages: messages.slice(0, step + 1), state: { id: TOLD, set: new Set([TOLD]) } };
    const channel_versions = { messages: step + 1, state: step + 1 };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values, channel_versions };
    const metadata = { source: "loop", step, parents: {}, note: TOLD } as const;
    parent = (await saver.put(parent, checkpoint, metadata, channel_versions)) as typeof parent;
    await saver.putWrites(
      parent,
      [
        ["messages", messages],
        ["state", TOLD],
      ],
      "task",
    );
  }
  const tuple = await saver.getTuple(config());
  const read = tuple?.checkpoint.channel_values as { messages: AIMessage[]; state: { id: string; set: Set<string> } };
  expect(read.messages.map(({ id }) => id)).toEqual(["h", "a", "r"]);
  const [look] = read.messages[1]?.tool_calls ?? [];
  expect(look).toMatchObject({ id: "c", name: "look", args: { note: redact(TOLD) } });
  expect([...read.state.set, read.state.id]).toEqual([redact(TOLD), redact(TOLD)]);
  expect(tuple?.metadata).toMatchObject({ source: "loop", note: redact(TOLD) });
  expect(tuple?.pendingWrites?.length).toBe(2);
  expect((await Session.create(store).forSession("t").getHistory()).length).toBe(3);
  const items = new StemmaStore(store);
  await items.put(["a"], "k", { note: TOLD, deep: [TOLD] });
  expect((await items.get(["a"], "k"))?.value).toEqual({ note: redact(TOLD), deep: [redact(TOLD)] });
});

it("refuses a serializer in which it cannot redact", async () => {
  await store.migrate();
  const serde = { dumpsTyped: async () => ["pickle", new Uint8Array([1])], loadsTyped: async () => null };
  const saver = new StemmaSaver(store, { serde: serde as never });
  const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  const put = saver.put(config, emptyCheckpoint(), { source: "input", step: 0, parents: {} }, {});
  await expect(put).rejects.toMatchObject({ code: "REDACTION_FAILED" });
  expect(await store.sessions.get("t")).toBe(null);
});

it("keeps the items of OpenAI's SDK and LangChain's messages without the secret", async () => {
  const agents = openaiAgentsSession(Session.create(store).forSession("openai"));
  const user = { type: "message", role: "user", content: TOLD } as const;
  await agents.addItems([
    user,
    { type: "function_call", callId: "c", name: "look", arguments: TOLD, status: "completed" },
  ]);
  await agents.addItems([
    {
      type: "function_call_result",
      callId: "c",
      name: "look",
      status: "completed",
      output: { type: "text", text: TOLD },
    },
  ]);
  expect(JSON.stringify(await agents.getItems())).toContain(redact(TOLD));
  const history = new StemmaChatMessageHistory(Session.create(store).forSession("langchain"));
  await history.addMessages([
    new HumanMessage(TOLD),
    new AIMessage({ content: TOLD, tool_calls: [{ id: "c", name: "look", args: { note: TOLD } }] }),
    new ToolMessage({ tool_call_id: "c", content: TOLD }),
  ]);
  expect((await history.getMessages()).map(({ text }) => text)).toEqual([redact(TOLD), redact(TOLD), redact(TOLD)]);
});

it("keeps what Claude's memory tool writes without the secret", async () => {
  const tools = memoryTool(Session.create(store).forSession("main"));
  await tools.execute({ command: "create", path: "/memories/a.md", file_text: TOLD });
  await tools.execute({ command: "insert", path: "/memories/a.md", insert_line: 1, insert_text: TOLD });
  expect(await tools.execute({ command: "view", path: "/memories/a.md" })).toContain(redact(TOLD));
});

it("imports files without the secret, and without it in the lines that are kept beside the messages", async () => {
  const id = crypto.randomUUID();
  const all = turn(id, TOLD);
  const entries = (Array.isArray(all) ? all : Object.values(all)).flat();
  const lines = [
    ...entries,
    { type: "summary", summary: TOLD, leafUuid: "x" },
    { type: "system", note: TOLD, uuid: "y" },
  ];
  const file = join(folder, "lines.jsonl");
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  for await (const parsed of readSessionFile(file)) await importSession(store, parsed, "imported");
  expect((await store.records.list({ sessionId: "imported", label: "imported" })).length).toBeGreaterThan(0);
});

it("runs a session of the runner whose store has no secret", async () => {
  const session = await createSession({
    model: scripted(calls(["c", "look", { note: TOLD }]), says(TOLD)) as never,
    sessionStorage: store,
    id: "run",
    metadata: { note: TOLD },
    tools: { look: tool({ inputSchema: z.object({ note: z.string() }), execute: async ({ note }) => note }) },
  });
  await session.send(TOLD);
  for await (const _ of session.receive()) void _;
  await session.close();
  expect(JSON.stringify((await store.session("run").path()).messages)).toContain("[key]");
});

it("tells an observer of calls, tools and compactions what is redacted, in whichever order the two are put", async () => {
  const told: Observed[] = [];
  const results: unknown[] = [];
  const observer: Observer = (seen, work) => {
    told.push({
      ...seen,
      values: structuredClone(seen.type === "call" ? JSON.parse(JSON.stringify(seen.values ?? [])) : []),
    });
    const result = work((part) => part());
    if (result instanceof Promise)
      result.then(
        (value) => results.push(seen.type === "tool" ? value : null),
        (error) => results.push(String(error)),
      );
    return result;
  };
  const observed = observeStore(store, observer, { statements: true });
  await observed.session("s").append([everywhere("a")]);
  await observed.search(TOLD, { limit: 1 });
  const work = async () => TOLD;
  expect(await observed.observer?.({ type: "tool", name: "executeTool", store: "x", values: [TOLD] }, work)).toBe(TOLD);
  const failing = async () => Promise.reject(new RangeError(TOLD));
  const failed = observed.observer?.({ type: "tool", name: "executeTool", store: "x", values: [] }, failing);
  await expect(failed).rejects.toThrow(TOLD);
  const { redactStore } = await import("../../../packages/stemma/src/session.js");
  const inner = memory();
  const outer = redactStore(observeStore(inner, observer, { statements: false }), redact);
  await outer.session("s").append([everywhere("a")]);
  expect(await outer.observer?.({ type: "tool", name: "executeTool", store: "x", values: [TOLD] }, work)).toBe(TOLD);
  await inner.close();
  await sleep(1);
  expect(told.length).toBeGreaterThan(5);
  expect(results).toContain(redact(TOLD));
  expect(occurrences(JSON.stringify([told, results]))).toBe(0);
});
