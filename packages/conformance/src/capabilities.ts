import { Session, SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { expect, expectError } from "./assert.js";
import { collect, message } from "./samples.js";
import { CAPABILITIES } from "./target.js";
import { defineTopic } from "./topic.js";

export const capabilities = defineTopic("capabilities", (it) => {
  it("names itself, and has the capabilities that its author says", async ({ store, target }) => {
    expect(store.name.length > 0).toBe(true);
    const { capabilities, reopen } = target;
    for (const name of CAPABILITIES) expect(typeof store.capabilities[name]).toBe("boolean");
    // What is opened again holds something.
    const said = { ...(reopen === undefined ? {} : { durable: true }), ...capabilities };
    expect({ ...store.capabilities }).toEqual({ ...store.capabilities, ...said });
  });

  it("takes and gives only what structuredClone copies", async ({ store }) => {
    const session = Session.create(clonedStore(store)).forSession("main").withContext("memory").withCachedPrompt();
    const skills = { get: async () => "- deploy", load: async () => "text" };
    session.withContext("skills", { provider: skills }).onCompaction(async () => null);
    await session.appendAll(["a", "b", "c"].map((id) => message(id)));
    await session.addCompaction("summary", "a", "b");
    await session.updateMessage({ ...message("c"), createdAt: new Date() });
    await session.setActiveLeaf("a");
    expect((await session.selectBranch("a")).id).toBe("c");
    await session.editMessage("c", message("e"));
    expect(await session.getParent("e")).toEqual(message("b"));
    expect((await session.getSiblings("e")).length).toBe(2);
    await session.appendMessage(message("d"), "a", { expectedLeaf: "e" });
    await session.upsertMessage(message("d"));
    await session.removeCompaction((await session.addCompaction("another", "a", "b")).id);
    await session.deleteMessages(["c"]);
    await session.freezeSystemPrompt();
    const { load_context, unload_context, set_context } = await session.tools();
    await load_context?.execute({ label: "skills", key: "deploy" }, { toolCallId: "1" });
    await unload_context?.execute({ label: "skills", key: "deploy" });
    await set_context?.execute({ label: "memory", content: "fact" });
    const reads = [session.getHistory("d"), session.getHistory("d", { onCorrupt: "skip" }), session.getTree()];
    for (const read of await Promise.all(reads)) expect(read.length > 0).toBe(true);
    expect((await session.getRecentHistory(10)).messages.length).toBe(1);
    const manager = SessionManager.create(clonedStore(store));
    await manager.addUsage("main", 1, 2, 3);
    const fork = await manager.fork("main", "d", "Fork");
    await manager.compactAndSplit(fork.id, "summary");
    expect((await manager.list()).length).toBe(3);
    await clonedStore(store).records.set({ sessionId: "main", label: "runs" }, "k", new Uint8Array([1]));
    await session.clearMessages();
  });

  it("can be used without migrate()", async ({ session }) => {
    await session.appendMessage(message("a"));
    expect(await session.getPathLength()).toBe(1);
  });

  it("refuses any call after close(), which may be called twice", async ({ store, session, sessionOf, manager }) => {
    await session.appendMessage(message("a"));
    const withBlocks = sessionOf("b").withContext("memory").withCachedPrompt();
    await withBlocks.freezeSystemPrompt();
    await store.close();
    await store.close();
    await expectError(session.appendMessage(message("b")), "STORE_CLOSED");
    await expectError(session.getHistory(), "STORE_CLOSED");
    await expectError(session.history()[Symbol.asyncIterator]().next(), "STORE_CLOSED");
    await expectError(manager.list(), "STORE_CLOSED");
    await expectError(withBlocks.tools(), "STORE_CLOSED");
    await expectError(withBlocks.freezeSystemPrompt(), "STORE_CLOSED");
    await expectError(withBlocks.appendContextBlock("memory", "more"), "STORE_CLOSED");
    await expectError(store.migrate(), "STORE_CLOSED");
  });

  it("refuses every call that reads or writes the store after close(), and none before", async ({
    store,
    sessionOf,
  }) => {
    const manager = SessionManager.create(store).withCachedPrompt();
    const session = sessionOf("s")
      .withContext("memory")
      .withCachedPrompt()
      .onCompaction(async () => null);
    await session.freezeSystemPrompt();
    await session.appendAll(["a", "b", "c"].map((id) => message(id)));
    const { id } = await session.addCompaction("summary", "a", "b");
    const calls: (() => Promise<unknown>)[] = [
      () => session.appendMessage(message("d")),
      () => session.appendAll([message("d")]),
      () => session.updateMessage(message("a")),
      () => session.upsertMessage(message("a")),
      () => session.deleteMessages(["c"]),
      () => session.setActiveLeaf("a"),
      () => session.getHistory(),
      () => session.getRecentHistory(10),
      () => collect(session.history()),
      () => session.getMessage("a"),
      () => session.getLatestLeaf(),
      () => session.getBranches("a"),
      () => session.getParent("a"),
      () => session.getSiblings("a"),
      () => session.selectBranch("a"),
      () => session.editMessage("a", message("edited")),
      () => session.getPathLength(),
      () => session.getTree(),
      () => session.compact(),
      () => session.addCompaction("another", "a", "b"),
      () => session.getCompactions(),
      () => session.expandCompaction(id),
      () => session.replaceContextBlock("memory", "x"),
      () => session.appendContextBlock("memory", "x"),
      () => session.addContext(`notes ${crypto.randomUUID()}`),
      () => session.removeCompaction(id),
      () => session.readContextBlock("memory"),
      () => session.freezeSystemPrompt(),
      () => session.refreshSystemPrompt(),
      () => session.reminder(),
      () => manager.create("Chat", { id: "chat" }),
      () => manager.get("s"),
      () => manager.list(),
      () => manager.listPage(),
      () => manager.rename("s", "name"),
      () => manager.append("s", message("e")),
      () => manager.getMessageCount("s"),
      () => manager.addUsage("s", 1, 1),
      () => manager.fork("s", "a", "fork"),
      () => manager.compactAndSplit("s", "summary"),
      () => manager.getSession("s").freezeSystemPrompt(),
      () => manager.delete("chat"),
      () => session.clearMessages(),
    ];
    if (store.capabilities.search)
      calls.push(
        () => session.search("text"),
        () => manager.search("text"),
      );
    for (const call of calls) await call();
    await store.close();
    for (const call of calls) await expectError(call, "STORE_CLOSED");
  });

  it("refuses calls on a store that was closed before its first use", async ({ store, session }) => {
    await store.close();
    await expectError(session.appendMessage(message("a")), "STORE_CLOSED");
  });
});

// The store as if it stood behind a message port: what is passed is copied, and the receiver has the copy.
function clonedStore(store: Store): Store {
  const cloned = <T extends object>(methods: T): T =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        typeof method === "function" ? (...values: unknown[]) => answer(method(...structuredClone(values))) : method,
      ]),
    ) as T;
  const { sessions, blocks, entries, records } = store;
  return {
    ...store,
    session: (id) => cloned(store.session(id)),
    ...{ sessions: cloned(sessions), blocks: cloned(blocks), entries: cloned(entries), records: cloned(records) },
    search: async (...values) => structuredClone(await store.search(...structuredClone(values))),
  };
}

function answer(given: unknown): unknown {
  return given instanceof Promise ? given.then(structuredClone) : given;
}
