import { promptKey } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { chain, historyIds, historyTexts, idsOf, message } from "../samples.js";
import { defineTopic } from "../topic.js";

/** Trees of which messages are deleted, or all are cleared. */
export const deleting = defineTopic("deleting messages", (it) => {
  it("splices the children of a deleted message to its parent", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.deleteMessages(["b"]);
    expect(await historyIds(session)).toEqual(["a", "c"]);
    expect(idsOf(await session.getBranches("a"))).toEqual(["c"]);
    expect(await session.getMessage("b")).toBe(null);
  });

  it("makes roots of the children of a deleted root", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.appendMessage(message("c"), "a");
    await session.deleteMessages(["a"]);
    expect(await historyIds(session)).toEqual(["c"]);
    expect(await historyIds(session, "b")).toEqual(["b"]);
  });

  it("moves the active leaf to its parent when it is deleted", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.deleteMessages(["c"]);
    expect((await session.getLatestLeaf())?.id).toBe("b");
    await session.appendMessage(message("d"));
    expect(await historyIds(session)).toEqual(["a", "b", "d"]);
  });

  it("moves a chosen active leaf to its parent when it is deleted", async ({ session }) => {
    await chain(session, ["a", "b", "c", "d"]);
    await session.setActiveLeaf("c");
    await session.deleteMessages(["c"]);
    expect((await session.getLatestLeaf())?.id).toBe("b");
    expect(await historyIds(session)).toEqual(["a", "b"]);
    expect(await historyIds(session, "d")).toEqual(["a", "b", "d"]);
  });

  it("deletes several messages at once and ignores unknown ids", async ({ session }) => {
    await chain(session, ["a", "b", "c", "d", "e"]);
    await session.deleteMessages(["b", "unknown", "c", "e", "b"]);
    expect(await historyIds(session)).toEqual(["a", "d"]);
    expect(await session.getPathLength()).toBe(2);
  });

  it("does nothing when only unknown ids are deleted", async ({ session, manager }) => {
    await session.deleteMessages(["unknown"]);
    await session.deleteMessages([]);
    expect(await manager.list()).toEqual([]);
  });

  it("can be filled again after every message was deleted", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.appendMessage(message("c"), "a");
    await session.deleteMessages(["a", "b", "c"]);
    expect(await historyIds(session)).toEqual([]);
    expect(await session.getLatestLeaf()).toBe(null);
    await chain(session, ["b", "a"]);
    expect(await historyIds(session)).toEqual(["b", "a"]);
  });

  it("lets an id be used again after its message was deleted", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.deleteMessages(["a"]);
    expect((await session.appendMessage(message("a", "again"))).inserted).toBe(true);
    expect(await historyTexts(session)).toEqual(["text of b", "again"]);
  });

  it("removes messages, compactions and loaded skills with clearMessages, and keeps blocks", async ({
    store,
    manager,
    sessionOf,
  }) => {
    const session = sessionOf("cleared").withContext("memory");
    await session.replaceContextBlock("memory", "kept");
    await chain(session, ["a", "b", "c"]);
    await session.addCompaction("summary", "a", "b");
    const skill = { label: "skills", key: "deploy", toolCallIds: [] };
    await store.session("cleared").importTree({ messages: [], skills: { loaded: [skill], unloaded: [] } });
    await session.clearMessages();
    expect(await historyIds(session)).toEqual([]);
    expect(await session.getTree()).toEqual([]);
    expect(await session.getCompactions()).toEqual([]);
    expect(await store.session("cleared").skills()).toEqual({ loaded: [], unloaded: [] });
    expect(session.getContextBlock("memory")?.content).toBe("kept");
    expect((await manager.get("cleared"))?.id).toBe("cleared");
    await chain(session, ["c", "a"]);
    expect(await historyIds(session)).toEqual(["c", "a"]);
  });

  it("refreshes the frozen prompt with clearMessages", async ({ sessionOf }) => {
    let content = "before";
    const session = sessionOf("s")
      .withContext("soul", { provider: { get: async () => content } })
      .withCachedPrompt();
    await session.appendMessage(message("a"));
    await session.freezeSystemPrompt();
    content = "after";
    expect(await session.freezeSystemPrompt()).toInclude("before");
    await session.clearMessages();
    expect(await session.freezeSystemPrompt()).toInclude("after");
  });

  it("refreshes with clearMessages what another session object froze, and freezes nothing where nothing was", async ({
    sessionOf,
  }) => {
    let content = "before";
    const build = () =>
      sessionOf("s")
        .withContext("soul", { provider: { get: async () => content } })
        .withCachedPrompt();
    await build().clearMessages();
    content = "frozen";
    expect(await build().freezeSystemPrompt()).toInclude("frozen");
    content = "after";
    await build().clearMessages();
    content = "later";
    expect(await build().freezeSystemPrompt()).toInclude("after");
  });

  it("leaves nothing frozen when clearMessages cannot render the prompt anew", async ({ store, sessionOf }) => {
    let content: string | null = "before";
    const get = async () => {
      if (content === null) throw new Error("out of order");
      return content;
    };
    const session = sessionOf("s").withContext("soul", { provider: { get } }).withCachedPrompt();
    await session.appendMessage(message("a"));
    await session.freezeSystemPrompt();
    content = null;
    await session.clearMessages();
    expect(await historyIds(session)).toEqual([]);
    expect(await store.blocks.get(promptKey("s"))).toEqual(null);
    content = "after";
    expect(await session.freezeSystemPrompt()).toInclude("after");
  });

  it("does not wait with clearMessages for ever for a block that gives no answer, and freezes nothing", async ({
    store,
    sessionOf,
  }) => {
    const answers: ((content: string) => void)[] = [];
    let get = async () => "before";
    const session = sessionOf("s")
      .withContext("soul", { provider: { get: () => get() } })
      .withCachedPrompt()
      .onCompaction(async () => null, { timeout: 30 });
    await session.appendMessage(message("a"));
    await session.freezeSystemPrompt();
    get = () => new Promise((resolve) => answers.push(resolve));
    await session.clearMessages();
    expect(await historyIds(session)).toEqual([]);
    for (const answer of answers) answer("late");
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await store.blocks.get(promptKey("s"))).toBe(null);
    get = async () => "after";
    await session.clearMessages();
    expect(await store.blocks.get(promptKey("s"))).toBe(null);
    expect(await session.refreshSystemPrompt()).toInclude("after");
  });

  it("does not wait with clearMessages for ever for the provider of the prompt", async ({ sessionOf }) => {
    const never = () => new Promise<never>(() => {});
    for (const broken of ["get", "set"]) {
      let kept: string | null = null;
      const provider = {
        get: async () => kept,
        set: async (content: string) => {
          kept = content;
        },
      };
      const session = sessionOf(broken)
        .withContext("memory")
        .withCachedPrompt(provider)
        .onCompaction(async () => null, { timeout: 20 });
      await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "new");
      const { get, set } = provider;
      Object.assign(provider, { [broken]: never });
      // What is frozen there cannot be taken back without its set().
      if (broken === "set") await expectError(session.clearMessages(), "COMPACTION_TIMEOUT");
      else await session.clearMessages();
      Object.assign(provider, { get, set });
      await session.clearMessages();
      expect(await session.freezeSystemPrompt()).toInclude("new");
    }
  });
});
