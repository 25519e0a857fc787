import { SessionManager } from "../manager/session-manager.js";
import { expect, expectError } from "./assert.js";
import { collect, message } from "./samples.js";
import { capabilitiesOf } from "./target.js";
import { defineTopic } from "./topic.js";

export const capabilities = defineTopic("capabilities", (it) => {
  it("names itself, and has the capabilities that its author says", async ({ store, target }) => {
    expect(store.name.length > 0).toBe(true);
    expect({ ...store.capabilities }).toEqual(capabilitiesOf(target));
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
      () => session.getPathLength(),
      () => session.getTree(),
      () => session.compact(),
      () => session.addCompaction("another", "a", "b"),
      () => session.getCompactions(),
      () => session.expandCompaction(id),
      () => session.replaceContextBlock("memory", "x"),
      () => session.appendContextBlock("memory", "x"),
      () => session.addContext(`notes ${crypto.randomUUID()}`),
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
