import { estimateTokens } from "@stemma/model";
import type { Session } from "@stemma/session";
import { AgentSearchProvider, SessionManager } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { imageMessage } from "../messages/fidelity.js";
import { chain, forkedTree, historyIds, historyTexts, idsOf, message, snapshot } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

/** Forks, continuations and deletion of sessions: what comes along, and what is left behind. */
export const forks = defineTopic("forks", (it) => {
  it("copies the path to a message into a new session, with ids kept", async ({ session, sessionOf, manager }) => {
    await forkedTree(session);
    const info = await manager.fork("main", "d", "Forked Chat");
    expect([info.name, info.parent_session_id]).toEqual(["Forked Chat", "main"]);
    const fork = sessionOf(info.id);
    expect(await fork.getHistory()).toEqual(["root", "a", "d"].map((id) => message(id)));
    expect((await fork.getTree()).map(({ id, parentId }) => [id, parentId])).toEqual([
      ["root", null],
      ["a", "root"],
      ["d", "a"],
    ]);
    expect((await fork.getLatestLeaf())?.id).toBe("d");
    expect(await manager.get(info.id)).toEqual(info);
  });

  it("gives the fork the source's model and source, unless it is told otherwise, and no counters", async ({
    manager,
  }) => {
    await manager.create("Chat", { id: "a", model: "m", source: "web" });
    await manager.append("a", message("x"));
    await manager.addUsage("a", 5, 5, 5);
    const fork = await manager.fork("a", "x", "Fork");
    expect([fork.model, fork.source, fork.input_tokens, fork.end_reason]).toEqual(["m", "web", 0, null]);
  });

  it("keeps fork and source apart from then on", async ({ session, sessionOf, manager }) => {
    await chain(session, ["a", "b"]);
    const { id } = await manager.fork("main", "b", "fork");
    const fork = sessionOf(id);
    await fork.appendMessage(message("c"));
    await fork.updateMessage(message("a", "changed in the fork"));
    await session.deleteMessages(["b"]);
    await session.appendMessage(message("d"));
    expect(await historyTexts(fork)).toEqual(["changed in the fork", "text of b", "text of c"]);
    expect(await historyTexts(session)).toEqual(["text of a", "text of d"]);
  });

  it("leaves the source as it is", async (workspace) => {
    const { session, manager } = workspace;
    await forkedTree(session);
    await session.addCompaction("summary", "root", "a");
    const { id } = await manager.fork("main", "d", "fork");
    await manager.delete(id);
    const before = await snapshot(workspace);
    await manager.delete((await manager.fork("main", "d", "fork")).id);
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("copies the compactions of the path, with the originals under them", async ({ session, sessionOf, manager }) => {
    await forkedTree(session);
    const common = await session.addCompaction("start", "root", "a");
    await session.addCompaction("left", "b", "c");
    const { id } = await manager.fork("main", "e", "fork");
    const fork = sessionOf(id);
    expect(await fork.getCompactions()).toEqual([common]);
    expect(await historyTexts(fork)).toEqual(["start", "text of d", "text of e"]);
    expect(await historyIds(fork)).toEqual(await historyIds(session));
    expect(await fork.expandCompaction(common.id)).toEqual([message("root"), message("a")]);
    await fork.deleteMessages(["root"]);
    expect((await fork.getCompactions())[0]?.fromMessageId).toBe("a");
    expect((await session.getCompactions())[0]?.fromMessageId).toBe("root");
  });

  it("forks inside a compacted range with the originals", async ({ session, sessionOf, manager }) => {
    await chain(session, ["a", "b", "c", "d"]);
    await session.addCompaction("summary", "a", "c");
    const { id } = await manager.fork("main", "b", "fork");
    expect(await historyIds(sessionOf(id))).toEqual(["a", "b"]);
    expect(await sessionOf(id).getCompactions()).toEqual([]);
  });

  it("forks a fork, edits and compactions included", async ({ session, sessionOf, manager, store }) => {
    await chain(session, ["a", "b", "c", "d"]);
    await session.addCompaction("ab", "a", "b");
    const first = await manager.fork("main", "d", "first");
    await sessionOf(first.id).deleteMessages(["a"]);
    await sessionOf(first.id).appendMessage(message("e"), "c");
    const second = await manager.fork(first.id, "e", "second");
    expect(second.parent_session_id).toBe(first.id);
    expect(await historyTexts(sessionOf(second.id))).toEqual(["ab", "text of c", "text of e"]);
    expect(await sessionOf(second.id).getPathLength()).toBe(3);
    expect(await store.session(second.id).tokens()).toBe(await store.session(first.id).tokens());
  });

  it("estimates a fork's visible history, when its last message lies under a compaction too", async (workspace) => {
    const { session, store, manager } = workspace;
    await chain(session, ["a", "b"]);
    await session.addCompaction("a summary", "b", "b");
    const { id } = await manager.fork("main", "b", "fork");
    const fork = workspace.sessionOf(id);
    const check = async () => expect(await store.session(id).tokens()).toBe(estimateTokens(await fork.getHistory()));
    await check();
    await fork.updateMessage(message("b", "much longer than it was before"));
    await check();
    await fork.appendMessage(message("c"));
    await check();
  });

  it("brings the blocks along with their present content, and the frozen prompt as it is", async (workspace) => {
    const manager = richManager(workspace);
    const source = manager.getSession("main");
    await fill(source);
    const prompt = await source.freezeSystemPrompt();
    await source.appendContextBlock("memory", "and tea");
    const { id } = await manager.fork("main", "b", "fork");
    const fork = manager.getSession(id);
    expect(await fork.freezeSystemPrompt()).toBe(prompt);
    await fork.tools();
    expect(fork.getContextBlock("memory")?.content).toBe("coffee\nand tea");
    await fork.appendContextBlock("memory", ", of the fork");
    await source.refreshSystemPrompt();
    expect(source.getContextBlock("memory")?.content).toBe("coffee\nand tea");
    expect(await manager.getSession(id).freezeSystemPrompt()).toBe(prompt);
    const found = await (await fork.tools()).search_context?.execute({ label: "facts", query: "blue" });
    if (workspace.store.capabilities.search) expect(found).toBe("[sky]\nThe sky is blue.");
  });

  it("copies inline media and large messages", async ({ session, sessionOf, manager }) => {
    const image = imageMessage("image", 1);
    const large = message("large", "x漢".repeat(600_000));
    await session.appendAll([image, large, { ...image, id: "again" }]);
    const { id } = await manager.fork("main", "again", "fork");
    await manager.delete("main");
    expect(await sessionOf(id).getHistory()).toEqual([image, large, { ...image, id: "again" }]);
  });

  it("makes the messages of a fork searchable", ["search"], async ({ session, sessionOf, manager }) => {
    await session.appendAll([message("a", "zebra crossing"), message("b", "nothing"), message("c", "zebra again")]);
    const { id } = await manager.fork("main", "b", "fork");
    expect(idsOf(await sessionOf(id).search("zebra"))).toEqual(["a"]);
  });

  it("refuses an unknown session, an unknown message, and an id that is taken", async (workspace) => {
    const { session, manager, sessionOf } = workspace;
    await chain(session, ["a"]);
    await chain(sessionOf("taken"), ["x"]);
    const before = await snapshot(workspace);
    await expectError(manager.fork("unknown", "a", "fork"), "SESSION_NOT_FOUND");
    await expectError(manager.fork("main", "unknown", "fork"), "MESSAGE_NOT_FOUND");
    await expectError(manager.fork("main", "x", "fork"), "MESSAGE_NOT_FOUND");
    await expectError(manager.fork("main", "a", "fork", { id: "taken" }), "INVALID_ARGUMENT");
    await expectError(manager.fork("main", "a", "fork", { id: "main" }), "INVALID_ARGUMENT");
    await expectError(manager.compactAndSplit("unknown", "summary"), "SESSION_NOT_FOUND");
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("ends a session with compactAndSplit, and continues in a new one that starts with the summary", async (workspace) => {
    const manager = richManager(workspace);
    await manager.create("Chat", { id: "main", model: "m" });
    await fill(manager.getSession("main"));
    const prompt = await manager.getSession("main").freezeSystemPrompt();
    const info = await manager.compactAndSplit("main", "what was said", "Continued Chat");
    expect([info.name, info.parent_session_id, info.model, info.end_reason]).toEqual([
      "Continued Chat",
      "main",
      "m",
      null,
    ]);
    expect((await manager.get("main"))?.end_reason).toBe("compaction");
    const continued = manager.getSession(info.id);
    const [first, ...others] = await continued.getHistory();
    expect([first?.role, first?.parts.length, others]).toEqual(["assistant", 1, []]);
    expect(first?.parts[0]?.text).toInclude("what was said");
    expect(await continued.freezeSystemPrompt()).toBe(prompt);
    expect(continued.getContextBlock("memory")?.content).toBe("coffee");
    expect(await historyIds(manager.getSession("main"))).toEqual(["a", "b"]);
    expect((await manager.compactAndSplit("main", "again")).name).toBe("Chat");
  });

  it("leaves nothing behind of a deleted session, and ignores an unknown one", async (workspace) => {
    const { store, manager: plain } = workspace;
    const manager = richManager(workspace);
    await fill(manager.getSession("main"));
    await manager.getSession("main").freezeSystemPrompt();
    await fill(manager.getSession("kept"));
    const { id } = await manager.fork("main", "b", "fork");
    const kept = await snapshot(workspace, ["kept", id]);
    await manager.delete("unknown");
    expect(await snapshot(workspace, ["kept", id])).toEqual(kept);
    await manager.delete("main");
    expect(await plain.get("main")).toBe(null);
    expect((await store.session("main").path()).messages).toEqual([]);
    expect(await store.session("main").compactions()).toEqual([]);
    expect(await store.session("main").skills()).toEqual({ loaded: [], unloaded: [] });
    for (const [kind, label] of [
      ["block", "memory"],
      ["prompt", ""],
    ] as const) {
      expect(await store.blocks.get({ sessionId: "main", kind, label })).toBe(null);
    }
    expect(await store.entries.count({ sessionId: "main", label: "facts" })).toBe(0);
    if (store.capabilities.search) {
      const owners = (await plain.search("canary")).map(({ sessionId }) => sessionId).sort();
      expect(owners).toEqual([id, "kept"].sort());
    }
    expect(await historyIds(manager.getSession("kept"))).toEqual(["a", "b"]);
    const anew = manager.getSession("main");
    expect(await anew.freezeSystemPrompt()).toExclude("coffee");
    expect(anew.getContextBlock("memory")?.content).toBe("");
    await chain(workspace.sessionOf("main"), ["b"]);
    expect(await historyIds(workspace.sessionOf("main"))).toEqual(["b"]);
  });
});

/** A manager whose sessions use everything that a store keeps. */
export function richManager({ store }: Workspace): SessionManager {
  return SessionManager.create(store)
    .withContext("memory", { maxTokens: 100 })
    .withContext("facts", { provider: new AgentSearchProvider(store) })
    .withCachedPrompt();
}

/** Puts something of everything into a session. */
export async function fill(session: Session): Promise<void> {
  await session.replaceContextBlock("memory", "coffee");
  const entry = { label: "facts", content: "The sky is blue.", metadata: { title: "sky" } };
  await (await session.tools()).set_context?.execute(entry);
  await session.appendAll([{ ...imageMessage("a", 1), metadata: { name: "Ada" } }, message("b", "canary")]);
}
