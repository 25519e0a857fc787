import { describe, expect, it } from "vitest";
import { Session, type SessionMessage, type SessionProvider } from "../../src/session.js";
import { createCompactFunction } from "../../src/utils.js";
import { createProvider, delayed } from "./list-provider.js";

/** The same methods, each answering later, the first calls later than the next ones. */
function later(provider: ReturnType<typeof createProvider>): SessionProvider {
  let delay = 15;
  return delayed(provider, () => {
    delay = Math.max(0, delay - 1);
    return delay;
  });
}

const say = (id: string, text = `text of ${id}`) => ({ id, role: "user", parts: [{ type: "text", text }] });
const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);
function memo() {
  const held: { content: string | null } = { content: null };
  return {
    get: async () => held.content,
    set: async (content: string) => {
      held.content = content;
    },
  };
}

describe.each([
  ["synchronous", createProvider],
  ["asynchronous", () => later(createProvider())],
])("a %s SessionProvider with the documented methods only", (_kind, create) => {
  it("keeps a conversation with its branches", async () => {
    const session = Session.create(create());
    expect(await session.appendMessage(say("a"))).toMatchObject({ inserted: true });
    await session.appendAll([say("b"), say("c")]);
    await session.appendMessage(say("d"), "a");
    await session.appendMessage(say("e"));
    expect(await session.appendMessage(say("c", "again"))).toMatchObject({ inserted: false, message: say("c") });
    expect(idsOf(await session.getHistory())).toEqual(["a", "d", "e"]);
    expect(idsOf(await session.getHistory("c"))).toEqual(["a", "b", "c"]);
    expect(idsOf(await session.getBranches("a"))).toEqual(["b", "d"]);
    expect(await session.getLatestLeaf()).toEqual(say("e"));
    expect(await session.getPathLength("c")).toBe(3);
    expect(await session.getMessage("unknown")).toBeNull();
    await expect(session.appendMessage(say("f"), "unknown")).rejects.toMatchObject({ code: "PARENT_NOT_FOUND" });
    await expect(session.getHistory("unknown")).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    await expect(session.appendAll([say("f"), { id: "g" }])).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
    expect(await session.getMessage("f")).toBeNull();
  });

  it("edits, deletes and clears", async () => {
    const session = Session.create(create());
    await session.appendAll([say("a"), say("b"), say("c")]);
    await session.updateMessage(say("b", "edited"));
    await expect(session.updateMessage(say("unknown"))).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    await session.deleteMessages(["a", "unknown"]);
    expect(await session.getHistory()).toEqual([say("b", "edited"), say("c")]);
    await session.clearMessages();
    expect(await session.getHistory()).toEqual([]);
    expect(await session.getLatestLeaf()).toBeNull();
  });

  it("makes one chain, in order, of appends that nobody waits for", async () => {
    const session = Session.create(create());
    const ids = Array.from({ length: 20 }, (_, index) => `m${index}`);
    await Promise.all(ids.map((id) => session.appendMessage(say(id))));
    expect(idsOf(await session.getHistory())).toEqual(ids);
  });

  it("streams, and reads the newest messages that fit", async () => {
    const session = Session.create(create());
    await session.appendAll([say("a"), say("b"), say("c")]);
    const newestFirst: string[] = [];
    for await (const { id } of session.history({ newestFirst: true })) newestFirst.push(id);
    expect(newestFirst).toEqual(["c", "b", "a"]);
    const size = JSON.stringify(say("a")).length;
    expect(await session.getRecentHistory(2 * size)).toEqual({
      messages: [say("b"), say("c")],
      truncated: true,
      totalContentBytes: 2 * size,
    });
  });

  it("shows summaries in the place of what they cover, and the originals under them", async () => {
    const session = Session.create(create());
    await session.appendAll(["a", "b", "c", "d"].map((id) => say(id)));
    const overlay = await session.addCompaction("b and c", "b", "c");
    expect(idsOf(await session.getHistory())).toEqual(["a", `compaction_${overlay.id}`, "d"]);
    expect(idsOf(await session.expandCompaction(overlay.id))).toEqual(["b", "c"]);
    const streamed: string[] = [];
    for await (const { id } of session.history()) streamed.push(id);
    expect(streamed).toEqual(["a", `compaction_${overlay.id}`, "d"]);
    expect(idsOf((await session.getRecentHistory(0, { minMessages: 2 })).messages)).toEqual(streamed.slice(1));
    expect(await session.getCompactions()).toMatchObject([
      { summary: "b and c", fromMessageId: "b", toMessageId: "c" },
    ]);
    await expect(session.addCompaction("x", "c", "b")).rejects.toMatchObject({ code: "COMPACTION_INVALID_RANGE" });
  });

  it("compacts by itself, again and again", async () => {
    const summarize = async () => "What was said.";
    const session = Session.create(create())
      .onCompaction(createCompactFunction({ summarize, protectHead: 1, tailTokenBudget: 60, minTailMessages: 1 }))
      .compactAfter(300);
    for (let n = 0; n < 30; n += 1)
      await session.appendMessage(say(`m${n}`, "ten words that say very little of any kind ".repeat(3)));
    const history = await session.getHistory();
    expect(history.length).toBeLessThan(12);
    expect(history.filter(({ id }) => id.startsWith("compaction_"))).toHaveLength(1);
    expect(history[0]?.id).toBe("m0");
    expect(await session.getPathLength()).toBe(30);
  });

  it("searches with the provider's own search", async () => {
    const session = Session.create(create());
    await session.appendAll([say("a", "apples"), say("b", "pears")]);
    expect(await session.search("pears", { limit: 5 })).toMatchObject([{ id: "b", role: "user" }]);
  });

  it("takes blocks and a frozen prompt whose providers are given, and refuses others", async () => {
    const notes = memo();
    const session = Session.create(create()).withContext("notes", { provider: notes }).withCachedPrompt(memo());
    const { set_context } = await session.tools();
    await set_context?.execute({ label: "notes", content: "User likes coffee." });
    expect(await notes.get()).toBe("User likes coffee.");
    const prompt = await session.freezeSystemPrompt();
    expect(prompt).toContain("User likes coffee.");
    await session.replaceContextBlock("notes", "Tea.");
    expect(await session.freezeSystemPrompt()).toBe(prompt);

    const without = Session.create(create()).withContext("memory");
    await expect(without.freezeSystemPrompt()).rejects.toMatchObject({ code: "PROVIDER_REQUIRED" });
    await expect(Session.create(create()).withCachedPrompt().getHistory()).rejects.toMatchObject({
      code: "PROVIDER_REQUIRED",
    });
  });
});

it("keeps to the session that a provider says it belongs to", () => {
  const bound = () => Session.create({ ...createProvider(), sessionId: "one" });
  expect(bound().id).toBe("one");
  expect(bound().forSession("one").id).toBe("one");
  expect(() => bound().forSession("two")).toThrow(expect.objectContaining({ code: "SESSION_ID_BOUND" }));
  expect(Session.create(createProvider()).forSession("two").id).toBe("two");
});

it("leaves alone what a provider that applies its overlays itself shows", async () => {
  const provider = createProvider();
  const session = Session.create({ ...provider, getHistory: (leafId?: string) => shown(provider, leafId) });
  await session.appendAll(["a", "b", "c", "d"].map((id) => say(id)));
  const overlay = await session.addCompaction("b and c", "b", "c");
  expect(idsOf(await session.getHistory())).toEqual(["a", `compaction_${overlay.id}`, "d"]);
});

it("refuses to search where the provider cannot", async () => {
  const { searchMessages: _searchMessages, ...provider } = createProvider();
  await expect(Session.create(provider).search("x")).rejects.toMatchObject({ code: "SEARCH_UNAVAILABLE" });
});

function shown(provider: ReturnType<typeof createProvider>, leafId: string | undefined): SessionMessage[] {
  const path = provider.getHistory(leafId);
  for (const { id, summary, fromMessageId, toMessageId } of provider.getCompactions()) {
    const from = path.findIndex((message) => message.id === fromMessageId);
    const to = path.findIndex((message) => message.id === toMessageId);
    const summaryMessage = { id: `compaction_${id}`, role: "assistant", parts: [{ type: "text", text: summary }] };
    if (from >= 0 && to >= from) path.splice(from, to - from + 1, summaryMessage);
  }
  return path;
}
