// One file, because all cases run on each engine, with the same graphs.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Command, DeltaChannel, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, JsonPlusSerializer, uuid6 } from "@langchain/langgraph-checkpoint";
import { beforeEach, describe, expect, it } from "vitest";
import { Session, type Store } from "../../../packages/stemma/src/index.js";
import { StemmaSaver } from "../../../packages/stemma/src/langgraph.js";
import { memory } from "../../../packages/store/src/memory.js";
import {
  chatGraph,
  historyOf,
  pathOf,
  RemoveMessage,
  textOf,
  thread,
  user,
  workGraph,
} from "../../langgraph/graphs.js";
import { describeEngines } from "../../langgraph/stores.js";

describeEngines((open) => {
  let store: Store;
  beforeEach(() => {
    store = open();
  });
  const T = thread("t");
  const chat = () => chatGraph(new StemmaSaver(store));

  /** The same calls on LangGraph's own saver must leave the same history. */
  async function alike(steps: (graph: ReturnType<typeof chatGraph>) => Promise<void>): Promise<void> {
    const [reference, graph] = [chatGraph(new MemorySaver()), chat()];
    await steps(reference);
    await steps(graph);
    expect(await historyOf(graph, T)).toEqual(await historyOf(reference, T));
    // Another saver has nothing in memory.
    expect(await historyOf(chat(), T)).toEqual(await historyOf(reference, T));
    const { values } = await graph.getState(T);
    const path = await pathOf(store, "t");
    expect(path.slice(path.length - values.messages.length)).toEqual(values.messages.map(textOf));
  }

  describe("a conversation", () => {
    it("is the session of its thread: roles, texts, tool calls with their results", async () => {
      await alike(async (graph) => {
        await graph.invoke({ messages: [user("hello")] }, T);
        await graph.invoke({ messages: [user("what is the weather?")] }, T);
      });
      const { messages } = await store.session("t").path();
      expect(messages.map(({ id, role, parts }) => ({ id, role, parts }))).toEqual([
        { id: "u-hello", role: "user", parts: [{ type: "text", text: "hello" }] },
        { id: "a1-u-hello", role: "assistant", parts: [{ type: "text", text: "answer to hello" }] },
        { id: "u-what is the weather?", role: "user", parts: [{ type: "text", text: "what is the weather?" }] },
        {
          id: "a3-u-what is the weather?",
          role: "assistant",
          parts: [
            { type: "text", text: "I look it up." },
            {
              type: "tool-call",
              toolCallId: "call-u-what is the weather?",
              toolName: "weather",
              input: { city: "Bern" },
            },
          ],
        },
        {
          id: "t-call-u-what is the weather?",
          role: "tool",
          parts: [
            {
              type: "tool-result",
              toolCallId: "call-u-what is the weather?",
              toolName: "weather",
              output: "sunny in Bern",
            },
          ],
        },
        {
          id: "a5-t-call-u-what is the weather?",
          role: "assistant",
          parts: [{ type: "text", text: "answer to sunny in Bern" }],
        },
      ]);
      expect(await store.sessions.get("t")).toMatchObject({ name: "t", source: "langgraph" });
      const hits = await Session.create(store).forSession("t").search("weather");
      expect(hits[0]?.id).toBe("u-what is the weather?");
    });

    it("goes on with a model of LangChain, and streams", async () => {
      const model = fakeModel().respond(new AIMessage("one")).respond(new AIMessage("two"));
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
        .addEdge(START, "model")
        .compile({ checkpointer: new StemmaSaver(store) });
      await graph.invoke({ messages: [new HumanMessage("a")] }, T);
      const updates: string[] = [];
      for await (const chunk of await graph.stream(
        { messages: [new HumanMessage("b")] },
        { ...T, streamMode: "updates" },
      )) {
        updates.push(...Object.keys(chunk));
      }
      expect(updates).toEqual(["model"]);
      expect(model.calls[1]?.messages.map(textOf)).toEqual(["a", "one", "b"]);
      expect(await pathOf(store, "t")).toEqual(["a", "one", "b", "two"]);
    });
  });

  describe("time travel", () => {
    it("begins a branch, and goes back to the other one", async () => {
      let old: Parameters<ReturnType<typeof chat>["invoke"]>[1];
      await alike(async (graph) => {
        for (const text of ["a", "b", "c"]) await graph.invoke({ messages: [user(text)] }, T);
        for await (const state of graph.getStateHistory(T)) {
          if (state.values.messages?.length === 2 && state.next.length === 0) old = state.config;
        }
        await graph.invoke({ messages: [user("instead")] }, old);
      });
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a", "instead", "answer to instead"]);
      const siblings = await store.session("t").branches("a1-u-a");
      expect(siblings.map(({ id }) => id)).toEqual(["u-b", "u-instead"]);
      expect(await store.session("t").count()).toBe(8);
    });

    it("makes an edited message a branch, and puts what an update says into the session", async () => {
      await alike(async (graph) => {
        for (const text of ["a", "b"]) await graph.invoke({ messages: [user(text)] }, T);
        await graph.updateState(T, { messages: [new HumanMessage({ id: "u-b", content: "better" })] }, "agent");
      });
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a", "better", "answer to b"]);
    });

    it("takes the last messages away, or all of them", async () => {
      await alike(async (graph) => {
        for (const text of ["a", "b"]) await graph.invoke({ messages: [user(text)] }, T);
        const removed = [new RemoveMessage({ id: "a3-u-b" }), new RemoveMessage({ id: "u-b" })];
        await graph.updateState(T, { messages: removed }, "agent");
      });
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a"]);
      await chat().invoke({ messages: [user("c")] }, T);
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a", "c", "answer to c"]);
      await chat().updateState(T, { messages: [new RemoveMessage({ id: "__remove_all__" })] }, "agent");
      expect(await pathOf(store, "t")).toEqual([]);
      await chat().invoke({ messages: [user("d")] }, T);
      expect(await pathOf(store, "t")).toEqual(["d", "answer to d"]);
      expect(await store.session("t").count()).toBe(8);
    });

    it("keeps in the session what a graph takes off the front, and copies nothing", async () => {
      const graph = chat();
      for (let i = 0; i < 10; i += 1) {
        await graph.invoke({ messages: [user(`m${i}`)] }, T);
        const { messages } = (await graph.getState(T)).values;
        const removed = messages.slice(0, -2).map(({ id = "" }) => new RemoveMessage({ id }));
        await graph.updateState(T, { messages: removed }, "agent");
      }
      expect((await graph.getState(T)).values.messages).toHaveLength(2);
      expect(await pathOf(store, "t")).toHaveLength(20);
      expect(await store.session("t").count()).toBe(20);
    });

    it("copies what follows a message that was taken out of the middle", async () => {
      await alike(async (graph) => {
        for (const text of ["a", "b"]) await graph.invoke({ messages: [user(text)] }, T);
        await graph.updateState(T, { messages: [new RemoveMessage({ id: "a1-u-a" })] }, "agent");
      });
      expect(await pathOf(store, "t")).toEqual(["a", "b", "answer to b"]);
    });
  });

  describe("interrupts, parallel tasks and subgraphs", () => {
    it("stop and go on with another saver, as with LangGraph's own", async () => {
      const results = [];
      for (const saver of [
        () => new StemmaSaver(store),
        (
          (own) => () =>
            own
        )(new MemorySaver()),
      ]) {
        const first = await workGraph(saver()).invoke({ items: ["x", "y", "z"] }, T);
        const stopped = await workGraph(saver()).getState(T, { subgraphs: true });
        const last = await workGraph(saver()).invoke(new Command({ resume: "yes" }), T);
        results.push({
          first: JSON.parse(JSON.stringify(first).replace(/"id":"[^"]*"/g, '"id":""')),
          next: stopped.next,
          last,
          history: await historyOf(workGraph(saver()) as never, T),
        });
      }
      expect(results[0]).toEqual(results[1]);
      expect(results[0]?.last).toMatchObject({
        approved: "yes",
        done: expect.arrayContaining(["did x", "did y", "did z"]),
      });
    });

    it("lists the checkpoints of a subgraph by its namespace, and all of a thread without one", async () => {
      const saver = new StemmaSaver(store);
      await workGraph(saver).invoke({ items: ["x"] }, T);
      const namespaces = new Set<string>();
      let all = 0;
      for await (const { config } of saver.list(T)) {
        namespaces.add(config.configurable?.checkpoint_ns);
        all += 1;
      }
      expect(namespaces.size).toBe(2);
      let counted = 0;
      for (const checkpoint_ns of namespaces) {
        for await (const _ of saver.list({ configurable: { thread_id: "t", checkpoint_ns } })) counted += 1;
      }
      expect(counted).toBe(all);
    });
  });

  describe("keep", () => {
    it("bounds the checkpoints of a thread and what is stored beside them", async () => {
      const graph = chatGraph(new StemmaSaver(store, { keep: 5 }));
      const counts: number[] = [];
      for (let i = 0; i < 12; i += 1) {
        await graph.invoke({ messages: [user(`m${i} ${"long ".repeat(60)}`)] }, T);
        const states = [];
        for await (const state of graph.getStateHistory(T)) states.push(state);
        expect(states).toHaveLength(i === 0 ? 3 : 5);
        counts.push((await store.records.list({ sessionId: "t", label: "langgraph-writes" }, { limit: 1000 })).length);
      }
      expect(counts.at(-1)).toBe(counts.at(3));
      expect((await graph.getState(T)).values.messages).toHaveLength(24);
      const values = await store.records.list({ sessionId: "t", label: "langgraph-values" }, { limit: 1000 });
      expect(values.length).toBeLessThan(40);
      // The oldest that is left is whole.
      const states = [];
      for await (const state of graph.getStateHistory(T)) states.push(state);
      expect(states.at(-1)?.values.messages.length).toBeGreaterThan(20);
      expect(await pathOf(store, "t")).toHaveLength(24);
    });

    it("removes what subgraphs left under a checkpoint that goes", async () => {
      const graph = workGraph(new StemmaSaver(store, { keep: 2 }));
      for (let i = 0; i < 6; i += 1) {
        await graph.invoke({ items: ["x"] }, T);
        await graph.invoke(new Command({ resume: "yes" }), T);
      }
      const namespaces = new Set<string>();
      for await (const { config } of new StemmaSaver(store).list(T)) namespaces.add(config.configurable?.checkpoint_ns);
      expect(namespaces.size).toBeLessThanOrEqual(2);
      expect((await store.records.list({ sessionId: "t", label: "langgraph-children" })).length).toBeLessThanOrEqual(1);
    });

    it("shrinks a thread that had all its checkpoints, in several puts", async () => {
      const all = chat();
      for (let i = 0; i < 30; i += 1) await all.invoke({ messages: [user(`m${i}`)] }, T);
      const few = chatGraph(new StemmaSaver(store, { keep: 3 }));
      const counts = [];
      for (let i = 30; i < 32; i += 1) {
        await few.invoke({ messages: [user(`m${i}`)] }, T);
        const states = [];
        for await (const state of few.getStateHistory(T)) states.push(state);
        counts.push(states.length);
      }
      expect(counts.at(-1)).toBe(3);
      expect((await few.getState(T)).values.messages).toHaveLength(64);
    });

    it("keeps the checkpoints that a delta channel is made of", async () => {
      const log = () =>
        new DeltaChannel((state: string[], writes: string[][]) => state.concat(...writes), { snapshotFrequency: 4 });
      const build = (saver: StemmaSaver | MemorySaver) =>
        new StateGraph<{ log: string[] }>({ channels: { log } as never })
          .addNode("step", () => ({ log: ["step"] }))
          .addEdge(START, "step")
          .compile({ checkpointer: saver });
      const [graph, reference] = [build(new StemmaSaver(store, { keep: 2 })), build(new MemorySaver())];
      for (let i = 0; i < 12; i += 1) {
        for (const one of [graph, reference]) await one.invoke({ log: [`input ${i}`] }, T);
        expect((await graph.getState(T)).values).toEqual((await reference.getState(T)).values);
      }
      const checkpoints = await store.records.list({ sessionId: "t", label: "langgraph" }, { limit: 1000 });
      expect(checkpoints.length).toBeLessThan(30);
    });
  });

  describe("values", () => {
    it("are stored once while they do not change, and of a list what was added", async () => {
      const saver = new StemmaSaver(store);
      const big = "x".repeat(10_000);
      let config: { configurable?: Record<string, unknown> } = T;
      for (let i = 1; i <= 40; i += 1) {
        const checkpoint = {
          ...emptyCheckpoint(),
          id: uuid6(i),
          channel_values: { big, list: Array.from({ length: i }, (_, n) => `${n} ${"y".repeat(1000)}`) },
          channel_versions: { big: 1, list: i },
        };
        const metadata = { source: "loop" as const, step: i, parents: {} };
        config = await saver.put(config, checkpoint, metadata, i === 1 ? { big: 1, list: 1 } : { list: i });
      }
      const values = await store.records.list({ sessionId: "t", label: "langgraph-values" }, { limit: 1000 });
      const bytes = values.reduce((sum, { value }) => sum + value.length, 0);
      // All of the lists together are 800 kB.
      expect(bytes).toBeLessThan(10_000 + 4 * 40_000);
      let length = 40;
      for await (const { checkpoint } of saver.list(T)) {
        expect(checkpoint.channel_values.big).toBe(big);
        expect(checkpoint.channel_values.list).toHaveLength(length);
        length -= 1;
      }
      expect(length).toBe(0);
    });

    it("are right on branches whose versions have the same numbers", async () => {
      const saver = new StemmaSaver(store);
      const put = (parent: object, id: string, text: string, version: number) =>
        saver.put(
          parent,
          {
            ...emptyCheckpoint(),
            id,
            channel_values: { text: `${text} ${"z".repeat(500)}` },
            channel_versions: { text: version },
          },
          { source: "loop", step: version, parents: {} },
          { text: version },
        );
      const root = await put(T, uuid6(1), "root", 1);
      const [left, right] = [await put(root, uuid6(2), "left", 2), await put(root, uuid6(3), "right", 2)];
      const textAt = async (config: object) => String((await saver.get(config))?.channel_values.text).split(" ")[0];
      expect([await textAt(root), await textAt(left), await textAt(right)]).toEqual(["root", "left", "right"]);
    });

    it("go through a serializer of your own", async () => {
      class Reversed extends JsonPlusSerializer {
        override async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
          const [type, bytes] = await super.dumpsTyped(value);
          return [`reversed ${type}`, bytes.slice().reverse()];
        }
        override async loadsTyped(type: string, bytes: Uint8Array) {
          return super.loadsTyped(type.slice("reversed ".length), bytes.slice().reverse());
        }
      }
      const graph = () => chatGraph(new StemmaSaver(store, { serde: new Reversed() }));
      await graph().invoke({ messages: [user("a")] }, T);
      expect((await graph().getState(T)).values.messages.map(textOf)).toEqual(["a", "answer to a"]);
      const records = await store.records.list({ sessionId: "t", label: "langgraph-values" });
      expect(records.some(({ value }) => new TextDecoder().decode(value).includes("answer to a"))).toBe(false);
    });
  });

  describe("the session", () => {
    it("need not have the messages, or has those of another channel", async () => {
      const graph = chatGraph(new StemmaSaver(store, { messages: false }));
      await graph.invoke({ messages: [user("a")] }, T);
      expect([await store.session("t").count(), (await store.sessions.get("t"))?.id]).toEqual([0, "t"]);
      // From now on it has all of them.
      await chat().invoke({ messages: [user("b")] }, T);
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a", "b", "answer to b"]);
    });

    it("gets back what was deleted from it", async () => {
      await chat().invoke({ messages: [user("a")] }, T);
      await store.session("t").clear();
      await chat().invoke({ messages: [user("b")] }, T);
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a", "b", "answer to b"]);
      await store.session("t").delete(["a3-u-b"]);
      await chat().invoke({ messages: [user("c")] }, T);
      expect(await pathOf(store, "t")).toEqual(["a", "answer to a", "b", "answer to b", "c", "answer to c"]);
    });

    it("goes with the thread, and the thread with the session", async () => {
      const saver = new StemmaSaver(store);
      const graph = chatGraph(saver);
      await graph.invoke({ messages: [user("a")] }, T);
      await saver.deleteThread("t");
      expect([await store.sessions.get("t"), await saver.getTuple(T)]).toEqual([null, undefined]);
      await graph.invoke({ messages: [user("b")] }, T);
      await store.sessions.delete("t");
      expect(await saver.getTuple(T)).toBeUndefined();
      await graph.invoke({ messages: [user("c")] }, T);
      expect(await pathOf(store, "t")).toEqual(["c", "answer to c"]);
    });

    it("keeps what no session can hold as a text, and the checkpoint whole", async () => {
      const bad = [
        new HumanMessage({ id: "x".repeat(2000), content: "long id" }),
        new HumanMessage({ id: "compaction_1", content: "reserved id" }),
        new HumanMessage({ id: "n\0ul", content: "nul\0 and \ud83d" }),
      ];
      const graph = chat();
      await graph.updateState(T, { messages: bad }, "agent");
      const { messages } = (await graph.getState(T)).values;
      expect(messages.map(({ id }: { id?: string }) => id)).toEqual(bad.map(({ id }) => id));
      expect((await pathOf(store, "t")).map((text) => text.slice(0, 9))).toEqual(["long id", "reserved ", "nul and �"]);
    });
  });
});

describe("StemmaSaver", () => {
  it("confines its threads to the user of the store", async () => {
    const host = memory();
    const [anna, ben] = [new StemmaSaver(host.forUser("anna")), new StemmaSaver(host.forUser("ben"))];
    await chatGraph(anna).invoke({ messages: [user("a")] }, thread("t"));
    expect((await host.sessions.get("t"))?.user_id).toBe("anna");
    await expect(chatGraph(ben).invoke({ messages: [user("b")] }, thread("t"))).rejects.toMatchObject({
      code: "SESSION_OWNED",
    });
    const listed = [];
    for await (const tuple of ben.list({})) listed.push(tuple);
    expect(listed).toEqual([]);
  });

  it("refuses what is no store, no number, or no thread", async () => {
    expect(() => new StemmaSaver({} as Store)).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
    for (const keep of [0, -1, 1.5, Number.NaN]) {
      expect(() => new StemmaSaver(memory(), { keep })).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
    const saver = new StemmaSaver(memory());
    const invalid = { code: "INVALID_ARGUMENT" };
    await expect(saver.put({}, emptyCheckpoint(), { source: "loop", step: 0, parents: {} }, {})).rejects.toMatchObject(
      invalid,
    );
    await expect(saver.putWrites(thread("t"), [["a", 1]], "task")).rejects.toMatchObject(invalid);
    expect(await saver.getTuple({})).toBeUndefined();
  });
});
