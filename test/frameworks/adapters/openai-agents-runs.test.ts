import { Agent, type AgentInputItem, Runner, RunState, tool } from "@openai/agents";
import { assistantMessage, functionCall, modelError, ScriptedModel } from "@openai/agents/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { answer, user } from "../../adapters/openai-items.js";
import { describeStores, newSessionIds } from "../../adapters/stores.js";

const runner = new Runner({ tracingDisabled: true });

const add = tool({
  name: "add",
  description: "Adds one",
  parameters: z.object({ n: z.number() }),
  execute: async ({ n }) => ({ sum: n + 1 }),
});

const remove = tool({
  name: "remove",
  description: "Removes a file",
  parameters: z.object({ name: z.string() }),
  needsApproval: true,
  execute: async ({ name }) => `removed ${name}`,
});

const kinds = (items: readonly AgentInputItem[]) =>
  items.map((item) =>
    "role" in item ? item.role : `${item.type} ${(item as { callId?: string }).callId ?? ""}`.trim(),
  );

describeStores("agents of the OpenAI Agents SDK", (store) => {
  const nextId = newSessionIds();
  const open = (id = nextId(), host: Store = store()) => {
    const session = Session.create(host).forSession(id);
    return { session, agents: openaiAgentsSession(session) };
  };

  it.each([false, true])("run tools and go on with what they said before (streaming: %s)", async (stream) => {
    const model = new ScriptedModel([
      [functionCall("add", { n: 1 }, { callId: "c1" }), functionCall("add", { n: 2 }, { callId: "c2" })],
      [assistantMessage("2 and 3")],
      [assistantMessage("You asked for sums.")],
    ]);
    const agent = new Agent({ name: "A", model, tools: [add] });
    const { session, agents } = open();
    const run = async (input: string, id: string) => {
      const { agents: own } = open(id);
      if (!stream) return runner.run(agent, input, { session: own });
      const result = await runner.run(agent, input, { session: own, stream: true });
      await result.completed;
      return result;
    };
    expect((await run("Add", session.id)).finalOutput).toBe("2 and 3");
    expect((await run("What did I ask?", session.id)).finalOutput).toBe("You asked for sums.");
    const input = model.lastCall?.request.input as AgentInputItem[];
    const before = [
      "user",
      "function_call c1",
      "function_call c2",
      "function_call_result c1",
      "function_call_result c2",
    ];
    expect(kinds(input)).toEqual([...before, "assistant", "user"]);
    expect(kinds(await agents.getItems())).toEqual([...before, "assistant", "user", "assistant"]);
    expect((await session.getHistory())[1]?.parts).toMatchObject([{ output: { sum: 2 } }, { output: { sum: 3 } }]);
    model.assertComplete();
  });

  it("hand over to each other", async () => {
    const other = new Agent({
      name: "B",
      model: new ScriptedModel([[assistantMessage("from B")], [assistantMessage("B again")]]),
    });
    const first = new Agent({
      name: "A",
      model: new ScriptedModel([[functionCall("transfer_to_B", {}, { callId: "h1" })]]),
      handoffs: [other],
    });
    const { agents } = open();
    const { lastAgent, finalOutput } = await runner.run(first, "Hello", { session: agents });
    expect(finalOutput).toBe("from B");
    await runner.run(lastAgent as typeof other, "And?", { session: agents });
    const handed = ["user", "function_call h1", "function_call_result h1", "assistant"];
    expect(kinds(await agents.getItems())).toEqual([...handed, "user", "assistant"]);
  });

  it.each([
    [false, true],
    [true, true],
    [false, false],
  ])("wait for an approval, and go on elsewhere (streaming: %s, approved: %s)", async (stream, approved) => {
    const model = new ScriptedModel([
      [functionCall("remove", { name: "a" }, { callId: "c1" }), functionCall("add", { n: 1 }, { callId: "c2" })],
      [assistantMessage("Done.")],
    ]);
    const agent = new Agent({ name: "A", model, tools: [add, remove] });
    const { session, agents } = open();
    const run = async (input: string | RunState<unknown, typeof agent>, own: typeof agents) => {
      if (!stream) return runner.run(agent, input, { session: own });
      const result = await runner.run(agent, input, { session: own, stream: true });
      await result.completed;
      return result;
    };
    const waiting = await run("Remove a", agents);
    expect(waiting.interruptions.length).toBe(1);
    const written = JSON.stringify(waiting.state);
    expect(kinds(await agents.getItems())).toEqual([
      "user",
      "function_call c1",
      "function_call c2",
      "function_call_result c2",
    ]);
    const calls = async () => (await session.getHistory())[1]?.parts.map(({ state }) => state);
    expect(await calls()).toEqual(["input-available", "output-available"]);

    const state = await RunState.fromString(agent, written);
    const [interruption] = state.getInterruptions();
    if (interruption === undefined) throw new Error("There is nothing to approve.");
    if (approved) state.approve(interruption);
    else state.reject(interruption);
    expect((await run(state, open(session.id).agents)).finalOutput).toBe("Done.");
    expect(kinds(await agents.getItems()).slice(4)).toEqual(["function_call_result c1", "assistant"]);
    expect(await calls()).toEqual(["output-available", "output-available"]);
    expect((await session.getTree()).length).toBe(3);
  });

  it("leave the session as it was when the model fails, and may be asked again", async () => {
    const model = new ScriptedModel([modelError(new Error("overloaded")), [assistantMessage("Hello.")]]);
    const agent = new Agent({ name: "A", model });
    const { agents } = open();
    await expect(runner.run(agent, "Hi", { session: agents })).rejects.toThrow("overloaded");
    expect(await agents.getItems()).toEqual([]);
    await runner.run(agent, "Hi", { session: agents });
    expect(await agents.getItems()).toEqual([user("Hi"), answer("Hello.")]);
  });

  it("go on from a compaction of the provider; when that cannot be stored, nothing is lost", async () => {
    const compaction = { type: "compaction" as const, id: "cmp_1", encrypted_content: "zzz" };
    const steps = () => new ScriptedModel([[compaction, assistantMessage("short")], [assistantMessage("more")]]);
    const { session, agents } = open();
    const old = [user("the zebra"), answer("old")];
    await agents.addItems(old);

    const failing: Store = Object.create(store(), {
      writeTogether: { value: () => Promise.reject(new Error("disk full")) },
    });
    const broken = open(session.id, failing).agents;
    const refused = runner.run(new Agent({ name: "A", model: steps() }), "Hi", { session: broken });
    await expect(refused).rejects.toThrow("disk full");
    expect(await agents.getItems()).toEqual(old);

    const agent = new Agent({ name: "A", model: steps() });
    await runner.run(agent, "Hi", { session: agents });
    expect(await agents.getItems()).toEqual([compaction, answer("short")]);
    await runner.run(agent, "And?", { session: agents });
    expect(kinds(await agents.getItems())).toEqual(["compaction", "assistant", "user", "assistant"]);
    expect((await session.search("zebra")).length).toBe(1);
  });
});
