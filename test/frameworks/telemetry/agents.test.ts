import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createSession } from "../../../packages/stemma/src/agent.js";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import type { TelemetryEvent } from "../../../packages/stemma/src/opentelemetry.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { calls, collect, hangs, says, scripted, text } from "../../runner/mock-model.js";
import { add, fails } from "../../runner/tools.js";
import { allText, collected, followContext, of } from "../../telemetry/collected.js";

const SECRET = "xylophone";

followContext();

/** What the span of a turn of two steps says, by the runner and by the chat handler. */
const TURN = {
  "gen_ai.operation.name": "invoke_agent",
  "gen_ai.provider.name": "stemma",
  "gen_ai.conversation.id": "chat",
  "gen_ai.request.model": "mock-model-id",
  "gen_ai.usage.input_tokens": 20,
  "gen_ai.usage.output_tokens": 10,
  "stemma.call": "invokeAgent",
};

const slow = {
  inputSchema: z.object({}),
  async *execute() {
    yield "soon";
    await new Promise((resolve) => setTimeout(resolve, 5));
    yield `done ${SECRET}`;
  },
};

async function work(store: Store): Promise<void> {
  const model = scripted(
    calls(["a", "add", { x: 1 }], ["b", "fails", {}], ["c", "slow", {}], ["d", "note", { text: SECRET }]),
    says(`Done ${SECRET}`),
  );
  const note = {
    inputSchema: z.object({ text: z.string() }),
    execute: async ({ text }: { text: string }) => {
      await store.entries.set({ sessionId: "chat", label: "notes" }, { key: "n", content: text });
      return text;
    },
  };
  const tools = { add, fails, slow, note };
  const session = await createSession({ model, sessionStorage: store, id: "chat", source: "clerk", tools });
  await session.send(`Add ${SECRET}`);
  // As a server does it: whoever reads the events stands in no span.
  await collect(session.receive());
  await session.close();
}

const childrenOf = (spans: readonly ReadableSpan[], parent: ReadableSpan | undefined) =>
  spans.filter((span) => span.parentSpanContext?.spanId === parent?.spanContext().spanId);

describe("a turn of the runner on an instrumented store", () => {
  it("is an `invoke_agent` span, with the calls of tools and of the store below it", async () => {
    const { store, spans } = collected({ statements: false });
    await work(store);
    const [turn, ...others] = of(spans(), "invoke_agent clerk");
    expect(others).toEqual([]);
    expect(turn?.attributes).toEqual({ ...TURN, "gen_ai.agent.name": "clerk" });
    const below = childrenOf(spans(), turn).map(({ name }) => name);
    expect(below).toEqual(
      expect.arrayContaining(["prepare_turn", "chat", "execute_tool add", "execute_tool fails", "execute_tool slow"]),
    );
    const [added] = of(spans(), "execute_tool add");
    expect(added?.attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.provider.name": "stemma",
      "gen_ai.conversation.id": "chat",
      "gen_ai.tool.name": "add",
      "gen_ai.tool.call.id": "a",
      "gen_ai.tool.type": "function",
      "stemma.call": "executeTool",
    });
    const [failed] = of(spans(), "execute_tool fails");
    expect([failed?.attributes["error.type"], failed?.status.code]).toEqual(["RangeError", 2]);
    const [noted] = of(spans(), "execute_tool note");
    expect(childrenOf(spans(), noted).map(({ attributes }) => attributes["stemma.call"])).toEqual(["entries.set"]);
  });

  it("tells of a model that fails, and ends where the turn is left", async () => {
    const events: TelemetryEvent[] = [];
    const onEvent = (event: TelemetryEvent) => {
      if (event.type === "agent" || event.type === "tool") events.push(event);
    };
    const { store, spans } = collected({ statements: false, onEvent });
    const failing = await createSession({ model: scripted(new RangeError("away")), sessionStorage: store, id: "one" });
    await failing.send("Hi");
    expect((await collect(failing.receive())).map(({ type }) => type)).toEqual(["error", "stop"]);
    const left = await createSession({ model: scripted(hangs(...text("Hello"))), sessionStorage: store, id: "two" });
    await left.send("Hi");
    for await (const _event of left.receive()) break;
    const turns = of(spans(), "invoke_agent agent");
    expect(turns.map(({ attributes, status }) => [attributes["error.type"], status.code])).toEqual([
      ["RangeError", 2],
      [undefined, 0],
    ]);
    expect(events.map(({ type, name, sessionId, error }) => [type, name, sessionId, error])).toEqual([
      ["agent", "invokeAgent", "one", "RangeError"],
      ["agent", "invokeAgent", "two", null],
    ]);
  });

  it("holds what was written with `contents` only", async () => {
    const closed = collected();
    await work(closed.store);
    expect(allText(closed.spans())).not.toContain(SECRET);
    const open = collected({ contents: true });
    await work(open.store);
    const [noted] = of(open.spans(), "execute_tool note");
    expect(noted?.attributes).toMatchObject({
      "gen_ai.tool.call.arguments": `{"text":"${SECRET}"}`,
      "gen_ai.tool.call.result": SECRET,
    });
    expect(of(open.spans(), "execute_tool slow")[0]?.attributes["gen_ai.tool.call.result"]).toBe(`done ${SECRET}`);
  });

  it("is the same turn where nothing is instrumented", async () => {
    const store = memory();
    await work(store);
    expect(await store.session("chat").length()).toBe(3);
  });
});

describe("a turn of the chat handler on an instrumented store", () => {
  type Model = ReturnType<typeof scripted>;

  const answer = async (store: Store, model: Model): Promise<Response> => {
    const handler = chatHandler({
      sessions: SessionManager.create(store),
      model,
      tools: { add, fails },
      authenticate: () => ({ userId: "ada" }),
    });
    const message = { id: "m", role: "user", parts: [{ type: "text", text: SECRET }] };
    const body = JSON.stringify({ id: "chat", messages: [message], trigger: "submit-message" });
    return handler(new Request("http://localhost/api/chat", { method: "POST", body }));
  };
  const post = async (store: Store, model: Model): Promise<string> => (await answer(store, model)).text();

  it("is an `invoke_agent` span, with the calls of the store below it", async () => {
    const { store, spans } = collected({ statements: false });
    expect(await post(store, scripted(calls(["a", "add", { x: 1 }]), says("Done")))).toContain("ne");
    await expect.poll(() => of(spans(), "invoke_agent").length).toBe(1);
    const [turn] = of(spans(), "invoke_agent");
    expect(turn?.attributes).toEqual(TURN);
    const below = childrenOf(spans(), turn).map(({ name }) => name);
    expect(below).toEqual(expect.arrayContaining(["upsert_memory", "chat"]));
    expect(allText(spans())).not.toContain(SECRET);
  });

  it("tells of a model that fails", async () => {
    const { store, spans } = collected({ statements: false });
    expect(await post(store, scripted(new RangeError("away")))).toContain("An error occurred.");
    await expect.poll(() => of(spans(), "invoke_agent").length).toBe(1);
    const [turn] = of(spans(), "invoke_agent");
    expect([turn?.attributes["error.type"], turn?.status]).toEqual(["RangeError", { code: 2 }]);
  });

  it("tells of the model's failure where a tool failed before", async () => {
    const { store, spans } = collected({ statements: false });
    await post(store, scripted(calls(["a", "fails", {}]), new TypeError("away")));
    await expect.poll(() => of(spans(), "invoke_agent").length).toBe(1);
    expect(of(spans(), "invoke_agent")[0]?.attributes["error.type"]).toBe("TypeError");
  });

  it("answers a request that no answer can begin for as a plain store does", async () => {
    const refused = { ...scripted(says("Done")), specificationVersion: "v1" } as unknown as Model;
    const { store, spans } = collected({ statements: false });
    const [told, plain] = [await answer(store, refused), await answer(memory(), refused)];
    expect([told.status, await told.text()]).toEqual([plain.status, await plain.text()]);
    expect(told.ok).toBe(false);
    expect(of(spans(), "invoke_agent").map(({ status }) => status.code)).toEqual([2]);
  });
});
