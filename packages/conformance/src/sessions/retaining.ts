import type { Session, SessionManager } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { imageMessage } from "../messages/fidelity.js";
import { chain, forkedTree, historyIds, historyTexts, idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import { MAIN } from "../workspace.js";
import { sum } from "./erasing.js";

const DAY = 86_400_000;

/** Retention: what it removes, and what it leaves. */
export const retaining = defineTopic("retaining", (it) => {
  it("removes sessions that did not change for so long, large ones too", async ({ manager, store }) => {
    await store.session("old").append(numbered("o", 700).map((id) => message(id)));
    await store.session("small").append([imageMessage("i", 1)]);
    for (const id of ["old", "small"]) {
      const scope = { sessionId: id, label: "runs" };
      for (const key of numbered("r", 40)) await store.records.set(scope, key, new Uint8Array([1]));
      await store.entries.set({ sessionId: id, label: "facts" }, { key: "k", content: "tea" });
      await age(manager, id, 40);
    }
    await store.session("new").append([message("a")]);
    const planned = await manager.retain({ olderThan: 30 * DAY, dryRun: true });
    expect([planned.dryRun, planned.deleted.sessions, planned.deleted.messages]).toEqual([true, 2, 701]);
    expect((await manager.list()).length).toBe(3);
    const { deleted } = await manager.retain({ olderThan: new Date(Date.now() - 30 * DAY) });
    const { sessions, messages, records, entries, versions, media } = deleted;
    expect([sessions, messages, records, entries, versions, media]).toEqual([2, 701, 80, 2, 2, 1]);
    expect(idsOf(await manager.list())).toEqual(["new"]);
    if (store.capabilities.search) expect(idsOf(await manager.search("text"))).toEqual(["a"]);
    expect(sum((await manager.retain({ olderThan: 30 * DAY })).deleted)).toBe(0);
  });

  it("removes only what a user, or metadata, says", async ({ manager, store }) => {
    const ids = ["ada-1", "ada-2", "bob-1"];
    for (const id of ids) {
      await manager.create(id, { id, userId: id.slice(0, 3), metadata: { kind: id.slice(4) } });
      await age(manager, id, 10);
    }
    await manager.retain({ olderThan: DAY, metadata: { kind: "2" } });
    expect(idsOf(await manager.list()).sort()).toEqual(["ada-1", "bob-1"]);
    await manager.retain({ olderThan: DAY, userId: "ada" });
    expect(idsOf(await manager.list())).toEqual(["bob-1"]);
    await expectError(manager.forUser("ada").retain({ olderThan: DAY, userId: "bob" }), "SESSION_OWNED");
    await manager.forUser("ada").retain({ olderThan: DAY });
    expect(await store.sessions.count()).toBe(1);
  });

  it("keeps the newest messages, whose tree stays one", async ({ manager, session, store }) => {
    await chain(session, ["root", "a", "b", "c"]);
    await session.appendMessage(message("d"), "a");
    await session.appendMessage(message("e"), "b");
    await session.appendMessage(message("f"), "d");
    await session.setActiveLeaf("e");
    await age(manager, MAIN, 3);
    const before = (await manager.get(MAIN))?.updated_at;
    expect((await manager.retain({ keepMessages: 4, dryRun: true })).deleted.messages).toBe(3);
    expect((await manager.retain({ keepMessages: 4 })).deleted.messages).toBe(3);
    // Of root ─ a ─ b ─ (c, e) and a ─ d ─ f only the last four are left: what hung below b is roots now, as is d.
    expect(await parents(session)).toEqual([
      ["c", null],
      ["d", null],
      ["e", null],
      ["f", "d"],
    ]);
    expect(await historyIds(session)).toEqual(["e"]);
    expect(await historyIds(session, "f")).toEqual(["d", "f"]);
    expect(idsOf(await session.getSiblings("d"))).toEqual(["c", "d", "e"]);
    // Retention is no change of the conversation.
    expect((await manager.get(MAIN))?.updated_at).toBe(before);
    await session.appendMessage(message("g"));
    expect(await historyIds(session)).toEqual(["e", "g"]);
    expect([await session.getPathLength(), await store.session(MAIN).count()]).toEqual([2, 5]);
    expect(sum((await manager.retain({ keepMessages: 10 })).deleted)).toBe(0);
  });

  it("keeps the active leaf, however old it is", async ({ manager, session }) => {
    await forkedTree(session);
    await session.setActiveLeaf("b");
    await manager.retain({ keepMessages: 1 });
    expect(await historyIds(session)).toEqual(["b"]);
    expect(await parents(session)).toEqual([
      ["b", null],
      ["c", "b"],
      ["d", null],
      ["e", "d"],
    ]);
  });

  it("shrinks summaries to what is left of their range", async ({ manager, session }) => {
    await chain(session, numbered("m", 200));
    await session.addCompaction("early", "m000000", "m000050");
    await session.addCompaction("late", "m000060", "m000190");
    await session.appendMessage(imageMessage("last", 1));
    const { deleted } = await manager.retain({ keepMessages: 50 });
    expect([deleted.messages, deleted.summaries]).toEqual([151, 1]);
    const [left, ...others] = await session.getCompactions();
    expect([others.length, left?.fromMessageId, left?.toMessageId]).toEqual([0, "m000151", "m000190"]);
    expect((await historyTexts(session)).slice(0, 2)).toEqual(["late", "text of m000191"]);
  });

  it("keeps so many versions of blocks and entries, of sessions, users and keys", async ({ manager, store }) => {
    const scopes = [{ sessionId: "main" }, { sessionId: "", scope: { key: "team" } }] as const;
    const ada = store.forUser("ada");
    const mine = { sessionId: "", scope: "user" } as const;
    for (const content of numbered("v", 9)) {
      for (const scope of scopes) await store.blocks.set({ ...scope, kind: "block", label: "memory" }, content);
      await ada.entries.set({ ...mine, label: "facts" }, { key: "k", content });
    }
    expect((await manager.retain({ keepVersions: 4, dryRun: true })).deleted.versions).toBe(15);
    expect((await manager.retain({ keepVersions: 4, metadata: { kind: null } })).deleted.versions).toBe(5);
    expect((await manager.retain({ keepVersions: 4 })).deleted.versions).toBe(10);
    for (const scope of scopes) {
      const kept = await store.blocks.versions({ ...scope, kind: "block", label: "memory" });
      expect(kept.map(({ version }) => version)).toEqual([9, 8, 7, 6]);
    }
    expect((await ada.entries.versions({ ...mine, label: "facts" }, "k")).length).toBe(4);
  });

  it("refuses what is no rule", async ({ manager }) => {
    for (const options of [{ keepMessages: 0 }, { keepVersions: 1.5 }, { olderThan: Number.NaN }]) {
      await expectError(manager.retain(options), "INVALID_ARGUMENT");
    }
  });
});

async function age(manager: SessionManager, id: string, days: number): Promise<void> {
  const updatedAt = new Date(Date.now() - days * DAY).toISOString();
  await manager.store.sessions.restore(id, { updatedAt });
}

async function parents(session: Session): Promise<[id: string, parentId: string | null][]> {
  return (await session.getTree()).map(({ id, parentId }) => [id, parentId]);
}
