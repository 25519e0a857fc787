import type { AgentInputItem, UserMessageItem } from "@openai/agents";
import { convertToModelMessages, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { answer, call, EVERY_ITEM, result, user } from "../../adapters/openai-items.js";
import { describeStores, newSessionIds } from "../../adapters/stores.js";
import { createProvider } from "../../providers/list-provider.js";

describeStores("a session of the OpenAI Agents SDK", (store) => {
  const nextId = newSessionIds();
  const open = () => {
    const session = Session.create(store()).forSession(nextId());
    return { session, agents: openaiAgentsSession(session) };
  };

  it("gives back every kind of item as it was added, as copies", async () => {
    const { session, agents } = open();
    const given = structuredClone(EVERY_ITEM);
    await agents.addItems(given);
    (given[1] as UserMessageItem).content = "changed";
    const read = await agents.getItems();
    expect(read).toEqual(EVERY_ITEM);
    (read[1] as UserMessageItem).content = "changed";
    expect(await agents.getItems()).toEqual(EVERY_ITEM);
    expect(await openaiAgentsSession(Session.create(store()).forSession(session.id)).getItems()).toEqual(EVERY_ITEM);
    expect(await agents.getSessionId()).toBe(session.id);
  });

  it("gives the newest items up to a limit, oldest first", async () => {
    const { agents } = open();
    const items = [user("a"), call("1"), call("2"), result("1"), result("2"), answer("b"), user("c")];
    await agents.addItems(items);
    for (let limit = 1; limit <= 9; limit += 1) expect(await agents.getItems(limit)).toEqual(items.slice(-limit));
    expect([await agents.getItems(0), await agents.getItems(-1)]).toEqual([[], []]);
    await expect(agents.getItems(1.5)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("has one message for each thing said and each step of the model, calls and results in one part", async () => {
    const { session, agents } = open();
    await agents.addItems([user("a"), call("1", '{"n":1}'), call("2"), result("2"), result("1"), answer("b")]);
    const history = await session.getHistory();
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
    expect(history[1]?.parts).toEqual([
      {
        type: "dynamic-tool",
        toolName: "add",
        toolCallId: "1",
        input: { n: 1 },
        state: "output-available",
        output: "result of 1",
      },
      {
        type: "dynamic-tool",
        toolName: "add",
        toolCallId: "2",
        input: {},
        state: "output-available",
        output: "result of 2",
      },
    ]);
    expect(history[2]).toMatchObject({ parts: [{ type: "text", text: "b" }] });
    // What the parts give back is kept nowhere else.
    expect(history.map(({ metadata }) => metadata === undefined)).toEqual([true, false, true]);
    expect((await session.search("b")).length).toBe(1);
    const model = await convertToModelMessages(history as UIMessage[]);
    expect(model.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("puts a result that comes later into the message of its call, if that is the last one", async () => {
    const { session, agents } = open();
    await agents.addItems([user("a"), call("1"), call("2"), result("2")]);
    await agents.addItems([result("1"), answer("b")]);
    expect(await agents.getItems()).toEqual([user("a"), call("1"), call("2"), result("2"), result("1"), answer("b")]);
    expect((await session.getHistory()).map(({ parts }) => parts.map(({ state }) => state))).toEqual([
      [undefined],
      ["output-available", "output-available"],
      [undefined],
    ]);
    expect((await session.getTree()).length).toBe(3);

    await agents.addItems([call("3"), call("4")]);
    await agents.addItems([user("c"), result("3")]);
    await agents.addItems([result("4"), answer("d")]);
    expect((await agents.getItems()).slice(6)).toEqual([
      call("3"),
      call("4"),
      user("c"),
      result("3"),
      result("4"),
      answer("d"),
    ]);
  });

  it("keeps all results when several writers answer the calls of one message", async () => {
    const { session, agents } = open();
    const ids = ["1", "2", "3", "4", "5", "6"];
    await agents.addItems([user("a"), ...ids.map((id) => call(id))]);
    const writers = ids.map(() => openaiAgentsSession(Session.create(store()).forSession(session.id)));
    await Promise.all(writers.map((writer, index) => writer.addItems([result(ids[index] as string)])));
    const items = await agents.getItems();
    expect(items.slice(0, 7)).toEqual([user("a"), ...ids.map((id) => call(id))]);
    expect(
      items
        .slice(7)
        .map((item) => (item as { callId: string }).callId)
        .sort(),
    ).toEqual(ids);
    expect((await session.getTree()).length).toBe(2);
  });

  it("takes calls in the order in which they are made", async () => {
    const { agents } = open();
    const pending = [
      agents.addItems([user("a"), call("1")]),
      agents.addItems([result("1")]),
      agents.popItem(),
      agents.addItems([answer("b")]),
      agents.getItems(),
      agents.addItems([user("c")]),
    ] as const;
    expect(await pending[2]).toEqual(result("1"));
    expect(await pending[4]).toEqual([user("a"), call("1"), answer("b")]);
    await pending[5];
    expect(await agents.getItems(1)).toEqual([user("c")]);
  });

  it("pops items one by one, down to none, and keeps them on branches", async () => {
    const { session, agents } = open();
    const items = [user("a"), call("1"), result("1"), answer("b")];
    await agents.addItems(items);
    for (let index = items.length - 1; index >= 0; index -= 1) {
      expect(await agents.popItem()).toEqual(items[index]);
      expect(await agents.getItems()).toEqual(items.slice(0, index));
    }
    expect(await agents.popItem()).toBeUndefined();
    expect((await session.search("b")).length).toBe(1);
    await agents.addItems([user("c")]);
    expect(await agents.getItems()).toEqual([user("c")]);
    await session.selectBranch((await session.search("b"))[0]?.id as string);
    expect(await agents.getItems()).toEqual(items);
  });

  it("pops each item once, however many writers pop", async () => {
    const { session, agents } = open();
    const items = Array.from({ length: 6 }, (_, index) => user(`${index}`));
    await agents.addItems(items);
    const writers = items.map(() => openaiAgentsSession(Session.create(store()).forSession(session.id)));
    const popped = await Promise.all(writers.map((writer) => writer.popItem()));
    expect(popped.map((item) => (item as UserMessageItem).content).sort()).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(await agents.getItems()).toEqual([]);
  });

  it("clears what it holds", async () => {
    const { session, agents } = open();
    await agents.addItems([user("a"), answer("b")]);
    await agents.clearSession();
    expect([await agents.getItems(), await session.getTree()]).toEqual([[], []]);
    await agents.addItems([]);
    expect(await agents.getItems()).toEqual([]);
  });

  it("begins anew with a compaction, and still finds what was before", async () => {
    const { session, agents } = open();
    await agents.addItems([user("the zebra"), answer("b"), user("c")]);
    const compacted: AgentInputItem[] = [{ type: "compaction", encrypted_content: "zzz" }, user("c")];
    await agents.replaceHistoryWithCompaction?.(compacted);
    expect(await agents.getItems()).toEqual(compacted);
    expect((await session.search("zebra")).length).toBe(1);
    await agents.replaceHistoryWithCompaction?.([]);
    expect(await agents.getItems()).toEqual([]);
  });

  it("shows a summary of the session as a message of the assistant", async () => {
    const { session, agents } = open();
    await agents.addItems([user("a"), answer("b"), user("c")]);
    const [first, second] = await session.getHistory();
    await session.addCompaction("They said a and b.", first?.id as string, second?.id as string);
    expect(await agents.getItems()).toEqual([answer("They said a and b."), user("c")]);
    expect(await agents.popItem()).toEqual(user("c"));
    expect(await agents.getItems()).toEqual([answer("They said a and b.")]);
    await agents.addItems([user("d")]);
    expect(await agents.getItems()).toEqual([answer("They said a and b."), user("d")]);
  });

  it("refuses what is neither JSON nor bytes, and stores nothing of it", async () => {
    const { agents } = open();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    for (const value of [Number.NaN, new Date(), () => {}, 1n, new Map(), loop]) {
      const item = { type: "unknown", providerData: { value } } as AgentInputItem;
      await expect(agents.addItems([user("a"), item])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await agents.getItems()).toEqual([]);
  });

  it("follows an edit of a message", async () => {
    const { session, agents } = open();
    const said: AgentInputItem = { ...(answer("b") as object), id: "msg_1" } as AgentInputItem;
    await agents.addItems([user("a"), said]);
    const [, message] = await session.getHistory();
    await session.updateMessage({ ...message, parts: [{ type: "text", text: "edited" }] });
    expect(await agents.getItems()).toEqual([user("a"), { ...(answer("edited") as object), id: "msg_1" }]);
    await session.updateMessage({
      ...message,
      parts: [
        { type: "text", text: "x" },
        { type: "text", text: "y" },
      ],
    });
    expect((await agents.getItems(1))[0]).toMatchObject({ content: [{ text: "x" }, { text: "y" }] });
  });
});

describe("a session on a provider of the user's own", () => {
  it("is refused", async () => {
    const agents = openaiAgentsSession(new Session(createProvider()));
    await expect(agents.getItems()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await expect(agents.addItems([user("a")])).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  });
});
