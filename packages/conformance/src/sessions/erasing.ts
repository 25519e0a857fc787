import type { SessionManager } from "@stemma/session";
import type { RowCounts, Store } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { imageMessage } from "../messages/fidelity.js";
import { forkedTree, managerOfScopes, message } from "../samples.js";
import { defineTopic } from "../topic.js";

/** Receipts of deletions, and what is left of a user. */
export const erasing = defineTopic("erasing", (it) => {
  it("counts what a deletion removed, and reads back that nothing is left", async (workspace) => {
    const { manager, session, store } = workspace;
    await forkedTree(session);
    await session.appendMessage(imageMessage("i", 1));
    await session.addCompaction("summary", "root", "a");
    const blocks = { sessionId: "main", kind: "block", label: "memory" } as const;
    await store.blocks.set(blocks, "coffee");
    await store.blocks.set(blocks, "tea");
    const facts = { sessionId: "main", label: "facts" };
    await store.entries.set(facts, { key: "sky", content: "blue" });
    await store.records.set({ sessionId: "main", label: "runs" }, "r", new Uint8Array([1]));
    await store.sessions.addUsage("main", 1, 1, 0);
    await store.session("other").append([message("a")]);
    const { deleted, remaining } = await manager.delete("main");
    const known: Partial<RowCounts> = { sessions: 1, messages: 7, branches: 1, summaries: 1, blocks: 1, entries: 1 };
    expect(deleted).toEqual({
      ...known,
      ...{ media: 1, prompts: 0, versions: 3, records: 1, usage: 1, vectors: 0 },
      indexed: store.capabilities.search ? 8 : 0,
    });
    expect(sum(remaining)).toBe(0);
    expect(sum((await manager.delete("main")).deleted)).toBe(0);
    expect((await manager.list()).map(({ id }) => id)).toEqual(["other"]);
  });

  it("erases all that is kept for a user, and nothing of anyone else's", async (workspace) => {
    const { store } = workspace;
    const manager = managerOfScopes(workspace);
    for (const user of ["ada", "bob"]) await fillFor(manager, user);
    const before = await restOf(store, "bob");
    const { deleted, remaining } = await manager.eraseUser("ada");
    expect([deleted.sessions, deleted.messages, deleted.prompts]).toEqual([3, 3, 1]);
    // Of its sessions, and of its own.
    expect([deleted.blocks, deleted.entries, deleted.versions]).toEqual([2, 2, 4]);
    expect(sum(remaining)).toBe(0);
    expect(await restOf(store, "ada")).toEqual({ sessions: [], blocks: [], labels: [], removed: [] });
    expect(await restOf(store, "bob")).toEqual(before);
    expect(await manager.search("ada")).toEqual([]);
    expect(await store.blocks.owners("user")).toEqual(["bob"]);
    expect(sum((await manager.eraseUser("ada")).deleted)).toBe(0);
  });

  it("lets a user's manager erase that user only", async (workspace) => {
    const manager = managerOfScopes(workspace);
    for (const user of ["ada", "bob"]) await fillFor(manager, user);
    const ada = manager.forUser("ada");
    await expectError(ada.eraseUser("bob"), "SESSION_OWNED");
    expect((await ada.eraseUser("ada")).deleted.sessions).toBe(3);
    expect((await manager.list()).length).toBe(3);
  });

  it("removes the memory of a key", async ({ store }) => {
    const of = (key: string) => ({ sessionId: "", scope: { key } });
    for (const key of ["team", "other"]) {
      await store.blocks.set({ ...of(key), kind: "block", label: "memory" }, key);
      await store.entries.set({ ...of(key), label: "facts" }, { key: "k", content: "tea" });
    }
    const { deleted, remaining } = await store.deleteMemory(of("team"));
    expect([deleted.blocks, deleted.entries, deleted.versions, deleted.indexed]).toEqual([
      1,
      1,
      2,
      store.capabilities.search ? 1 : 0,
    ]);
    expect(sum(remaining)).toBe(0);
    expect(await store.blocks.owners("key")).toEqual(["other"]);
    expect(await store.entries.versions({ ...of("team"), label: "facts" }, "k")).toEqual([]);
    await expectError(store.deleteMemory({ sessionId: "", scope: "user" }), "USER_REQUIRED");
  });

  it("finds everything else when the database was rewritten", async ({ manager, session, store }) => {
    await forkedTree(session);
    await store.session("gone").append([message("x", "green tea")]);
    await manager.delete("gone");
    expect(["none", "pending", "unknown"].includes(await manager.scrub())).toBe(true);
    expect((await session.getTree()).length).toBe(6);
    if (!store.capabilities.search) return;
    expect((await manager.search("text")).length).toBe(6);
    expect(await manager.search("green")).toEqual([]);
  });
});

/** How many rows there are of all kinds together. */
export const sum = (counts: Partial<RowCounts>) => Object.values(counts).reduce((all, rows) => all + rows, 0);

async function fillFor(manager: SessionManager, userId: string): Promise<void> {
  const own = manager.forUser(userId);
  for (const name of ["one", "two", "three"]) await own.append(`${userId}-${name}`, message("m", `nothing ${userId}`));
  const session = own.getSession(`${userId}-one`);
  await session.replaceContextBlock("memory", `${userId} likes tea`);
  await session.replaceContextBlock("mine", `${userId} lives in Rome`);
  const tools = await session.tools();
  for (const label of ["facts", "my facts"]) {
    await tools.set_context?.execute({ label, content: `${userId} has a cat`, metadata: { title: "cat" } });
  }
  await session.freezeSystemPrompt();
}

async function restOf(store: Store, userId: string): Promise<unknown> {
  const own = store.forUser(userId);
  const scope = { sessionId: "", scope: "user" } as const;
  const { sessions } = await own.sessions.list({});
  return {
    sessions: sessions.map(({ id }) => id),
    blocks: await own.blocks.list(scope),
    labels: await own.entries.labels(scope),
    removed: await own.entries.removed(scope),
  };
}
