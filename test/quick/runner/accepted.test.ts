// Whatever lies in a history, the next request is one that providers accept.
import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, it } from "vitest";
import { createSession, forkSession, MemorySessionStorage, resumeSession } from "../../../packages/stemma/src/agent.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type Chunk, calls, collect, says, scripted, text, usage } from "../../runner/mock-model.js";
import { anthropicServer } from "../../runner/model-servers.js";
import { add, ask } from "../../runner/tools.js";

const broken: Chunk = { type: "error", error: "connection lost" };

describe("a turn that was cut off, asked again", () => {
  it("answers anew, and the model does not see the half of its answer", async () => {
    const model = scripted([...text("Half an"), broken], says("A whole answer"), says("Yes"));
    const session = await createSession({ model, sessionStorage: memory() });
    await session.send("Go");
    await collect(session.receive());
    expect(await session.isInterrupted()).toBe(true);
    expect((await collect(session.receive())).at(-1)).toMatchObject({ stop_reason: "end_turn" });
    expect(await session.isInterrupted()).toBe(false);
    expect(session.getMessages().map(({ content }) => content)).toEqual(["Go", "Half an", "A whole answer"]);
    await session.send("Sure?");
    await collect(session.receive());
    expect(model.doStreamCalls.map(({ prompt }) => prompt.map(({ role }) => role).join())).toEqual([
      "user",
      "user",
      "user,assistant,user",
    ]);
  });

  it("keeps the calls that were made before it was cut off", async () => {
    const searched: Chunk = {
      type: "tool-call",
      toolCallId: "w",
      toolName: "web",
      input: "{}",
      providerExecuted: true,
      dynamic: true,
    };
    const found: Chunk = { type: "tool-result", toolCallId: "w", toolName: "web", result: { found: 1 } };
    const model = scripted([searched, found, ...text("I fou"), broken], says("Found"));
    const session = await createSession({ model, sessionStorage: memory() });
    await session.send("Go");
    await collect(session.receive());
    await collect(session.receive());
    const again = JSON.stringify(model.doStreamCalls[1]?.prompt);
    expect(again).toContain('"found":1');
    expect(again).not.toContain("I fou");
  });

  it("shows the half of an answer to which the user replied", async () => {
    const model = scripted([...text("Half an"), broken], says("Fine"));
    const session = await createSession({ model, sessionStorage: memory() });
    await session.send("Go");
    await collect(session.receive());
    await session.send("Go on");
    await collect(session.receive());
    expect(JSON.stringify(model.doStreamCalls[1]?.prompt)).toContain("Half an");
  });

  it("takes the provider's own word that it failed", async () => {
    const step: Chunk[] = [
      ...text("Half"),
      { type: "finish", usage: usage(3, 1), finishReason: { unified: "error", raw: "overloaded" } },
    ];
    const session = await createSession({ model: scripted(step), sessionStorage: memory() });
    await session.send("Go");
    expect((await collect(session.receive())).slice(-2)).toMatchObject([
      { type: "error", error: { code: "MODEL_FAILED", message: expect.stringContaining("overloaded") } },
      // It was paid for.
      { stop_reason: "error", usage: { input_tokens: 3, output_tokens: 1 } },
    ]);
    expect(await session.isInterrupted()).toBe(true);
  });
});

describe("a request", () => {
  it("has an object as the input of a call whose JSON was broken", async () => {
    const store = memory();
    const model = scripted(calls(["c", "add", "{broken"], ["d", "add", '"text"']), says("Sorry"));
    const session = await createSession({ model, sessionStorage: store, tools: { add } });
    await session.send("Go");
    await collect(session.receive());
    const server = await anthropicServer({ say: "Fine" });
    const claude = createAnthropic({ apiKey: "k", baseURL: server.url })("claude-sonnet-4-5");
    const resumed = await resumeSession(session.id, { model: claude, sessionStorage: store, tools: { add } });
    await resumed.send("Again");
    expect((await collect(resumed.receive())).at(-1)).toMatchObject({ stop_reason: "end_turn" });
    await server.close();
    const [request] = server.requests as { messages: { content: object[] }[] }[];
    const [, asked, answered] = request?.messages ?? [];
    expect(asked?.content).toMatchObject([{ input: {} }, { input: {} }]);
    expect(answered?.content).toMatchObject([
      { is_error: true, content: expect.stringContaining("{broken") },
      { is_error: true },
    ]);
  });

  it("has each call's id once, in letters that every provider takes", async () => {
    const model = scripted(calls(["c", "add", { x: 1 }], ["c", "add", { x: 2 }]), calls(["c", "add", { x: 3 }]));
    const store = memory();
    const session = await createSession({ model, sessionStorage: store, tools: { add }, maxTurns: 2 });
    await session.send("Go");
    await collect(session.receive());
    const stored = (await session.session.getHistory()).flatMap(({ parts }) => parts);
    expect(stored.map(({ output }) => output)).toEqual([undefined, { sum: 2 }, { sum: 3 }, { sum: 4 }]);
    await session.session.appendMessage({
      id: "imported",
      role: "assistant",
      parts: [{ type: "tool-fs.read file", toolCallId: "a:b", state: "output-available", input: [1], output: "text" }],
    });
    const next = scripted(says("Ten"));
    const resumed = await resumeSession(session.id, { model: next, sessionStorage: store, tools: { add } });
    await collect(resumed.receive());
    const content = next.doStreamCalls[0]?.prompt.flatMap((message) =>
      message.role === "assistant" ? message.content : [],
    );
    expect(content).toMatchObject([
      { toolCallId: "c" },
      { toolCallId: "c_2" },
      { toolCallId: "c_3" },
      { toolCallId: "a_b", toolName: "fs_read_file", input: {} },
    ]);
  });

  it("passes over blank texts and unknown parts, and tells a call of another format", async () => {
    const model = scripted(says("Hi"));
    const session = await createSession({ model, sessionStorage: memory() });
    await session.session.appendAll([
      { id: "u", role: "user", parts: [{ type: "text", text: "Go" }] },
      {
        id: "a",
        role: "assistant",
        parts: [
          { type: "text", text: "\n\n" },
          { type: "tool-invocation", toolInvocation: { state: "call", toolCallId: "i" } },
          { type: "tool-call", toolCallId: "c", toolName: "n", args: {} },
          { type: "mystery" },
        ],
      },
      { id: "v", role: "user", parts: [{ type: "text", text: "Again" }] },
    ]);
    await collect(session.receive());
    const prompt = model.doStreamCalls[0]?.prompt;
    expect(prompt?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(prompt?.[1]?.content).toMatchObject([{ type: "tool-call", toolCallId: "c", toolName: "n" }]);
  });

  it("shows the texts and images of a result that the host gave in blocks", async () => {
    const server = await anthropicServer({ call: [["a", "ask", { question: "Which?" }]] }, { say: "I see" });
    const claude = createAnthropic({ apiKey: "k", baseURL: server.url })("claude-sonnet-4-5");
    const session = await createSession({ model: claude, sessionStorage: memory(), tools: { ask } });
    await session.send("Go");
    await collect(session.receive());
    const content = [
      { type: "text" as const, text: "This" },
      { type: "image" as const, source: { type: "base64" as const, media_type: "image/png", data: "aGk=" } },
    ];
    await session.send([{ type: "tool_result", tool_use_id: "a", content }]);
    await collect(session.receive());
    await server.close();
    const [, request] = server.requests as { messages: { content: { content: object[] }[] }[] }[];
    expect(request?.messages.at(-1)?.content[0]?.content).toEqual(content);
    expect(session.getMessages()[2]).toMatchObject({ content: [{ json: true, content: JSON.stringify(content) }] });
  });

  it("is accepted after a fork of a session whose call has no result", async () => {
    const store = memory();
    const session = await createSession({
      model: scripted(calls(["q", "ask", { question: "Which?" }])),
      sessionStorage: store,
      tools: { ask },
    });
    await session.send("Go");
    await collect(session.receive());
    const model = scripted(says("Well"));
    const fork = await forkSession(session.id, { model, sessionStorage: store });
    expect(await fork.isInterrupted()).toBe(true);
    await fork.send("Never mind");
    await collect(fork.receive());
    expect(model.doStreamCalls[0]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    // The original still waits for its answer.
    const original = await resumeSession(session.id, { sessionStorage: store, tools: { ask } });
    await original.send([{ type: "tool_result", tool_use_id: "q", content: "That one" }]);
  });
});

describe("what is sent", () => {
  it("is refused when it says nothing", async () => {
    const session = await createSession({ sessionStorage: memory() });
    const blank = ["", " \n", [{ type: "text", text: "" }], { id: "a", role: "user", parts: [] }];
    for (const input of blank) {
      await expect(session.send(input as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(session.getMessages()).toEqual([]);
  });

  it("is stored in its order, also when nobody waited for it", async () => {
    const session = await createSession({ model: scripted(says("All three")), sessionStorage: memory() });
    const sends = ["a", "b", "c"].map((message) => session.send(message));
    expect((await collect(session.receive())).at(-1)).toMatchObject({ stop_reason: "end_turn" });
    await Promise.all(sends);
    expect(session.getMessages().map(({ content }) => content)).toEqual(["a", "b", "c", "All three"]);
  });

  it("is stored before close resolves", async () => {
    const store = memory();
    const session = await createSession({ sessionStorage: store });
    const sent = session.send("Keep this");
    await session.close();
    expect(await store.session(session.id).leaf()).not.toBeNull();
    await sent;
  });

  it("changes nothing when it is sent again under its id", async () => {
    const session = await createSession({ model: scripted(says("Hello")), sessionStorage: memory() });
    const message = { id: "m", role: "user" as const, content: "Hi" };
    await session.send(message);
    await session.send({ ...message, content: "Something else" });
    await collect(session.receive());
    await session.send(message);
    expect(session.getMessages().map(({ content }) => content)).toEqual(["Hi", "Hello"]);
    expect(await session.session.getPathLength()).toBe(2);
  });

  it("answers all calls that it has results for, or none", async () => {
    const store = memory();
    let updates = 0;
    const writeTogether: typeof store.writeTogether = (writes) => {
      updates += writes.filter((write) => "update" in write).length;
      return store.writeTogether(writes);
    };
    const counted = { ...store, writeTogether };
    const session = await createSession({
      model: scripted(calls(["a", "ask", { question: "A?" }], ["b", "ask", { question: "B?" }])),
      sessionStorage: counted,
      tools: { ask },
    });
    await session.send("Go");
    await collect(session.receive());
    updates = 0;
    const result = (tool_use_id: string) => ({ type: "tool_result" as const, tool_use_id, content: "Yes" });
    await expect(session.send([result("a"), result("unknown")])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(session.getMessages()).toHaveLength(2);
    await session.send([result("a"), result("b")]);
    expect(session.getMessages()).toHaveLength(3);
    expect(updates).toBe(1);
  });
});

it("runs no tool that was approved only after its turn was aborted", async () => {
  for (const needsApproval of [true, () => true]) {
    const abort = new AbortController();
    let ran = false;
    let approve = (_yes: boolean) => {};
    const session = await createSession({
      model: scripted(calls(["a", "danger", { x: 1 }])),
      sessionStorage: memory(),
      tools: { danger: { ...add, needsApproval, execute: async () => (ran = true) } },
      approve: () =>
        new Promise<boolean>((resolve) => {
          approve = resolve;
          abort.abort();
        }),
    });
    await session.send("Go");
    expect((await collect(session.receive({ abortSignal: abort.signal }))).at(-1)).toMatchObject({
      stop_reason: "aborted",
    });
    approve(true);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(ran).toBe(false);
  }
});

it("counts what the model's own summaries cost", async () => {
  const model = scripted(...Array.from({ length: 6 }, () => says("words ".repeat(300))));
  model.doGenerate = async () => ({
    content: [{ type: "text", text: "A summary." }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: usage(1000, 100),
    warnings: [],
  });
  const prices = { input: 1, output: 10 };
  const session = await createSession({ model, sessionStorage: new MemorySessionStorage(), prices });
  for (let turn = 0; turn < 6; turn += 1) {
    await session.send("words ".repeat(4000));
    await collect(session.receive());
  }
  const before = session.getUsage();
  expect(await session.session.compact()).not.toBeNull();
  expect(session.getUsage()).toEqual({
    input_tokens: before.input_tokens + 1000,
    output_tokens: before.output_tokens + 100,
    total_cost_usd: expect.closeTo((before.total_cost_usd ?? 0) + 0.002, 12),
  });
});

it("refuses metadata that a state could not carry, and empty ids", async () => {
  for (const metadata of [{ stemma: 1 }, { big: 1n }]) {
    await expect(createSession({ metadata, sessionStorage: memory() })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
  await expect(createSession({ id: "", sessionStorage: memory() })).rejects.toMatchObject({
    code: "INVALID_SESSION_ID",
  });
});
