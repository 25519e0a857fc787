import type { AgentInputItem, SessionHistoryTransaction } from "@openai/agents";
import { expect, it } from "vitest";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { answer, call, EVERY_ITEM, result, user } from "../../adapters/openai-items.js";
import { describeStores, newSessionIds } from "../../adapters/stores.js";

const appending = (...items: AgentInputItem[]): SessionHistoryTransaction => ({ type: "append_items", items });
const replacing = (expectedSuffix: AgentInputItem[], ...replacement: AgentInputItem[]): SessionHistoryTransaction => ({
  type: "replace_suffix",
  expectedSuffix,
  replacement,
});

describeStores("a transaction on a session of the OpenAI Agents SDK", (store) => {
  const nextId = newSessionIds();
  const reopen = (id: string) => openaiAgentsSession(Session.create(store()).forSession(id));
  const open = () => {
    const session = Session.create(store()).forSession(nextId());
    return { session, agents: openaiAgentsSession(session) };
  };

  it("is made once, however often and by however many it is asked for", async () => {
    const { session, agents } = open();
    const transaction = appending(...EVERY_ITEM);
    await agents.applyHistoryTransaction({ operationId: "one", transaction });
    await agents.applyHistoryTransaction({ operationId: "one", transaction: structuredClone(transaction) });
    await reopen(session.id).applyHistoryTransaction({ operationId: "one", transaction });
    expect(await agents.getItems()).toEqual(EVERY_ITEM);
    const many = Array.from({ length: 5 }, () =>
      reopen(session.id).applyHistoryTransaction({ operationId: "two", transaction: appending(user("z")) }),
    );
    await Promise.all(many);
    expect(await agents.getItems()).toEqual([...EVERY_ITEM, user("z")]);
  });

  it("is known by its content, not by the order of its fields or those that are undefined", async () => {
    const { agents } = open();
    await agents.applyHistoryTransaction({ operationId: "one", transaction: appending(user("a")) });
    const same = { content: "a", role: "user", type: "message", providerData: undefined } as AgentInputItem;
    await agents.applyHistoryTransaction({ operationId: "one", transaction: { items: [same], type: "append_items" } });
    expect(await agents.getItems()).toEqual([user("a")]);
  });

  it("fails when its id was another one's, and changes nothing", async () => {
    const { agents } = open();
    await agents.applyHistoryTransaction({ operationId: "one", transaction: appending(user("a")) });
    for (const transaction of [appending(user("b")), appending(), replacing([], user("a"))]) {
      const again = agents.applyHistoryTransaction({ operationId: "one", transaction });
      await expect(again).rejects.toMatchObject({ code: "OPERATION_CONFLICT" });
    }
    expect(await agents.getItems()).toEqual([user("a")]);
  });

  it("replaces the newest items, in the middle of a message too", async () => {
    const items = [user("a"), call("1"), call("2"), result("1"), result("2"), answer("b")];
    for (let kept = 0; kept <= items.length; kept += 1) {
      const { session, agents } = open();
      await agents.addItems(items);
      const transaction = replacing(items.slice(kept), user("x"), answer("y"));
      await agents.applyHistoryTransaction({ operationId: "one", transaction });
      expect(await agents.getItems()).toEqual([...items.slice(0, kept), user("x"), answer("y")]);
      expect((await session.search("b")).length).toBe(1);
      const back = replacing([user("x"), answer("y")]);
      await agents.applyHistoryTransaction({ operationId: "two", transaction: back });
      expect(await agents.getItems()).toEqual(items.slice(0, kept));
    }
  });

  it("puts results that replace others into the message of their calls", async () => {
    const { session, agents } = open();
    await agents.addItems([user("a"), call("1"), result("1", "wrong"), answer("b")]);
    const transaction = replacing([result("1", "wrong"), answer("b")], result("1", "right"));
    await agents.applyHistoryTransaction({ operationId: "one", transaction });
    expect(await agents.getItems()).toEqual([user("a"), call("1"), result("1", "right")]);
    expect((await session.getHistory())[1]?.parts).toMatchObject([{ output: "right" }]);
    await agents.addItems([call("2")]);
    await agents.addItems([user("c")]);
    const later = replacing([user("c")], result("2"), answer("d"));
    await agents.applyHistoryTransaction({ operationId: "two", transaction: later });
    expect((await agents.getItems()).slice(3)).toEqual([call("2"), result("2"), answer("d")]);
    expect((await session.getHistory())[2]?.parts).toMatchObject([{ output: "result of 2" }]);
  });

  it("changes nothing when the history ends with other items", async () => {
    const { agents } = open();
    const items = [user("a"), answer("b")];
    await agents.addItems(items);
    for (const suffix of [[user("a")], [answer("c")], [user("z"), ...items], [answer("b"), user("a")]]) {
      const transaction = replacing(suffix, user("x"));
      const failing = agents.applyHistoryTransaction({ operationId: "one", transaction });
      await expect(failing).rejects.toMatchObject({ code: "HISTORY_CHANGED" });
    }
    expect(await agents.getItems()).toEqual(items);
    // The id is still free.
    await agents.applyHistoryTransaction({ operationId: "one", transaction: replacing([answer("b")], answer("c")) });
    expect(await agents.getItems()).toEqual([user("a"), answer("c")]);
  });

  it("keeps what others add meanwhile", async () => {
    const { session, agents } = open();
    await agents.addItems([user("a"), answer("b")]);
    const texts = ["1", "2", "3", "4"];
    const writers = texts.map((text) => reopen(session.id).addItems([user(text)]));
    const transaction = replacing([answer("b")], answer("c"));
    const [outcome] = await Promise.allSettled([
      agents.applyHistoryTransaction({ operationId: "one", transaction }),
      ...writers,
    ]);
    const read = (await agents.getItems()) as { content: unknown }[];
    const added = read.slice(2).map(({ content }) => content);
    expect(added.sort()).toEqual(texts);
    expect(read[1]).toEqual(outcome?.status === "fulfilled" ? answer("c") : answer("b"));
  });

  it("refuses what is no transaction", async () => {
    const { agents } = open();
    const wrong = [
      { operationId: " ", transaction: appending() },
      { operationId: 1, transaction: appending() },
      { operationId: "one", transaction: { type: "other" } },
      { operationId: "one", transaction: { type: "append_items" } },
      { operationId: "one", transaction: { type: "append_items", items: ["a"] } },
      { operationId: "one", transaction: { type: "replace_suffix", expectedSuffix: [] } },
      { operationId: "one", transaction: appending({ type: "unknown", providerData: { now: new Date() } }) },
    ];
    for (const args of wrong) {
      const applying = agents.applyHistoryTransaction(args as never);
      await expect(applying).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await agents.getItems()).toEqual([]);
  });

  it("is forgotten when the session is cleared", async () => {
    const { session, agents } = open();
    await agents.applyHistoryTransaction({ operationId: "one", transaction: appending(user("a")) });
    await agents.clearSession();
    const scope = { sessionId: session.id, label: "openaiAgents" };
    expect(await store().records.list(scope)).toEqual([]);
    await agents.applyHistoryTransaction({ operationId: "one", transaction: appending(user("b")) });
    expect(await agents.getItems()).toEqual([user("b")]);
  });

  it("takes an id of any length and text", async () => {
    const { agents } = open();
    const operationId = `${"long ".repeat(2000)}\0\ud800`;
    await agents.applyHistoryTransaction({ operationId, transaction: appending(user("a")) });
    await agents.applyHistoryTransaction({ operationId, transaction: appending(user("a")) });
    expect(await agents.getItems()).toEqual([user("a")]);
  });

  it("replaces calls where they stand, and removes those that come again", async () => {
    const { session, agents } = open();
    const replacement = call("1", '{"n":2}');
    await agents.addItems([user("a"), call("1", '{"n":1}'), call("2"), result("2")]);
    await agents.applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "1", replacement }] });
    expect(await agents.getItems()).toEqual([user("a"), replacement, call("2"), result("2")]);
    expect((await session.getHistory())[1]?.parts[0]).toMatchObject({ input: { n: 2 }, state: "input-available" });
    await agents.addItems([result("1"), call("1"), answer("b")]);
    const again = call("1", '{"n":3}');
    await agents.applyHistoryMutations({
      mutations: [
        { type: "replace_function_call", callId: "1", replacement: again },
        { type: "replace_function_call", callId: "none", replacement: again },
      ],
    });
    expect(await agents.getItems()).toEqual([user("a"), again, call("2"), result("2"), result("1"), answer("b")]);
  });
});
