import { StemmaError } from "@stemma/model";
import type { CheckReport, CheckRule, Store } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { imageMessage } from "../messages/fidelity.js";
import { collect, forkedTree, historyIds, idsOf, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import { MAIN, type Workspace } from "../workspace.js";

async function checked(store: Store, repair = false): Promise<CheckReport> {
  return (await store.check?.({ repair })) as CheckReport;
}

/** A tree with a summary, media twice, a block, an entry and a fork. */
async function fill({ store, session }: Workspace): Promise<void> {
  await forkedTree(session);
  await session.appendAll([imageMessage("f", 1), imageMessage("g", 1)]);
  await session.addCompaction("They greeted.", "a", "d");
  await session.appendAll([message("h"), message("i")]);
  await store.sessions.fork(MAIN, "c", { id: "copy", name: "copy" });
  await store.blocks.set({ sessionId: MAIN, kind: "block", label: "memory" }, "tea");
  await store.entries.set({ sessionId: MAIN, label: "facts" }, { key: "sky", content: "blue" });
  await store.records.set({ sessionId: MAIN, label: "runs" }, "one", new Uint8Array([1]));
  await store.sessions.addUsage(MAIN, 10, 5, 0, "large");
}

/** Reads the sessions that `fill` writes. */
async function shape({ store, sessionOf }: Workspace): Promise<unknown> {
  const seen: unknown[] = [];
  for (const id of [MAIN, "copy"]) {
    const session = sessionOf(id);
    const tree = await session.getTree();
    seen.push(tree.map((node) => [node.id, node.parentId, node.role]));
    for (const { id: leaf } of tree) seen.push(await session.getHistory(leaf));
    seen.push(await historyIds(session), await session.getCompactions());
    if (store.capabilities.search) seen.push(idsOf(await session.search("text", { limit: 50 })).sort());
  }
  seen.push((await store.blocks.get({ sessionId: MAIN, kind: "block", label: "memory" }))?.content);
  seen.push(await store.entries.get({ sessionId: MAIN, label: "facts" }, "sky"));
  const records = await store.records.list({ sessionId: MAIN, label: "runs" });
  seen.push(records.map(({ key, value, expiresAt }) => [key, [...value], expiresAt]));
  return seen;
}

const change = (column: string, value: string, id: string) =>
  `UPDATE assistant_messages SET ${column} = ${value} WHERE session_id = 'main' AND id = '${id}'`;

const DAMAGES: readonly { title: string; rule: CheckRule; sql: string }[] = [
  // First: a repair has all sums measured anew.
  { title: "a sum of tokens", rule: "totals", sql: change("total", "5", "i") },
  { title: "a message of another branch", rule: "tree", sql: change("branch", "7", "c") },
  { title: "a message in the middle that is of another branch", rule: "tree", sql: change("branch", "1", "b") },
  { title: "a message that names no parent there is", rule: "tree", sql: change("parent_id", "'nowhere'", "c") },
  { title: "a message that names another parent than its branch", rule: "tree", sql: change("parent_id", "NULL", "b") },
  { title: "branches that are gone", rule: "tree", sql: "DELETE FROM assistant_branches" },
  {
    title: "a branch that begins elsewhere",
    rule: "tree",
    sql: "UPDATE assistant_branches SET parent_n = parent_n + 1",
  },
  { title: "a branch that begins after its messages", rule: "tree", sql: "UPDATE assistant_branches SET lo = lo + 2" },
  { title: "branches in a circle", rule: "tree", sql: "UPDATE assistant_branches SET parent_branch = branch" },
  { title: "a record of an impossible version", rule: "record", sql: "UPDATE assistant_records SET version = -1" },
  {
    title: "requests that are no number, on no day",
    rule: "usage",
    sql: "UPDATE assistant_usage SET requests = -9007199254740999, day = 'x'",
  },
  {
    title: "a session with fewer changes than none",
    rule: "session",
    sql: "UPDATE assistant_sessions SET changes = -1",
  },
  { title: "a message of another id", rule: "fields", sql: change("id", "'x'", "b") },
  { title: "a message of another role", rule: "fields", sql: change("role", "'x'", "b") },
  { title: "a message of other tokens", rule: "fields", sql: change("tokens", "tokens + 1", "b") },
  { title: "a message of another date", rule: "fields", sql: change("dated_at", "'2026-01-01'", "b") },
  { title: "a message further on in its session", rule: "tree", sql: change("n", "n + 1000", "b") },
  { title: "a message in the range of no session", rule: "place", sql: change("n", "n + 241591910400", "b") },
  { title: "a message in the range of another session", rule: "place", sql: change("n", "n + 268435456 + 50", "b") },
  { title: "a message that names a session that is not there", rule: "place", sql: change("session_id", "'x'", "b") },
  { title: "a session of another id", rule: "place", sql: "UPDATE assistant_sessions SET id = 'x' WHERE id = 'main'" },
  { title: "a session that is gone", rule: "place", sql: "DELETE FROM assistant_sessions WHERE id = 'main'" },
  {
    title: "a session of another number",
    rule: "place",
    sql: "UPDATE assistant_sessions SET no = 900 WHERE id = 'main'",
  },
  {
    title: "an active leaf that is no message",
    rule: "session",
    sql: "UPDATE assistant_sessions SET leaf = 268435999",
  },
  { title: "skills that are no JSON", rule: "session", sql: "UPDATE assistant_sessions SET skills = '{'" },
  { title: "a summary that ends elsewhere", rule: "summary", sql: "UPDATE assistant_compactions SET to_n = to_n + 1" },
  { title: "a summary that begins nowhere", rule: "summary", sql: "UPDATE assistant_compactions SET from_n = 5" },
  { title: "a summary of other ends", rule: "summary", sql: "UPDATE assistant_compactions SET from_message_id = 'x'" },
  { title: "references to media that are gone", rule: "media", sql: "DELETE FROM assistant_media_refs" },
  { title: "media that no message shows", rule: "media", sql: "UPDATE assistant_media_refs SET hash = 'x'" },
  {
    title: "media of another name",
    rule: "content",
    sql: "UPDATE assistant_media SET hash = 'x'",
  },
  { title: "media in pieces of other numbers", rule: "content", sql: "UPDATE assistant_media SET part = part + 1" },
  { title: "a block without a version", rule: "block", sql: "UPDATE cf_agents_context_blocks SET version = 0" },
  {
    title: "versions without a number",
    rule: "version",
    sql: "UPDATE assistant_versions SET version = 0 WHERE kind = 'block'",
  },
  {
    title: "versions of nobody",
    rule: "version",
    sql: "UPDATE assistant_versions SET author = 'x', message_ids = '{'",
  },
  { title: "an index without messages", rule: "index", sql: "DELETE FROM assistant_fts" },
  { title: "an index without entries", rule: "index", sql: "DELETE FROM cf_agents_search_fts" },
];

const NOTICED: readonly { title: string; sql: string; read: (workspace: Workspace) => Promise<unknown> }[] = [
  {
    title: "a branch that is gone",
    sql: "DELETE FROM assistant_branches",
    read: ({ session }) => session.getHistory(),
  },
  {
    title: "a branch that is gone, page by page,",
    sql: "DELETE FROM assistant_branches",
    read: ({ session }) => collect(session.history()),
  },
  {
    title: "branches in a circle",
    sql: "UPDATE assistant_branches SET parent_branch = branch",
    read: ({ session }) => session.getHistory(),
  },
  {
    title: "an active leaf that is no message",
    sql: "UPDATE assistant_sessions SET leaf = 268435999",
    read: ({ session }) => session.getHistory(),
  },
  {
    title: "a summary whose end is gone",
    sql: "UPDATE assistant_compactions SET to_n = to_n + 5000",
    read: ({ session }) => session.getHistory(),
  },
  {
    title: "skills that cannot be read",
    sql: "UPDATE assistant_sessions SET skills = '{'",
    read: ({ session }) => session.getHistory(),
  },
  {
    title: "a child that names another parent",
    sql: "UPDATE assistant_messages SET parent_id = 'root' WHERE id = 'b'",
    read: ({ session }) => session.getBranches("a"),
  },
  {
    title: "a sibling that names another parent",
    sql: "UPDATE assistant_messages SET parent_id = 'root' WHERE id = 'c'",
    read: ({ session }) => session.getSiblings("c"),
  },
  {
    title: "siblings whose branches are gone",
    sql: "DELETE FROM assistant_branches",
    read: ({ session }) => session.getSiblings("b"),
  },
  {
    title: "a parent that is not there, asked for",
    sql: "UPDATE assistant_messages SET parent_id = 'nowhere' WHERE id = 'b'",
    read: ({ session }) => session.getParent("b"),
  },
  {
    title: "a parent that is not there",
    sql: "UPDATE assistant_messages SET parent_id = 'nowhere' WHERE id = 'b'",
    read: ({ session }) => session.getTree(),
  },
  {
    title: "a row that holds another message",
    sql: "UPDATE assistant_messages SET id = 'x' WHERE id = 'b'",
    read: ({ session }) => session.getMessage("x"),
  },
  {
    title: "a message whose session's row is gone",
    sql: "UPDATE assistant_sessions SET id = 'x' WHERE id = 'copy'",
    read: ({ sessionOf }) => sessionOf("copy").getMessage("a"),
  },
];

/** Findings and repairs of `store.check()`, and what reads tell of damage by themselves. */
export const check = defineTopic("check", (it) => {
  it("finds nothing wrong with what the store wrote", ["check"], async (workspace) => {
    const { store, session, manager } = workspace;
    await fill(workspace);
    await session.deleteMessages(["b", "root"]);
    await session.updateMessage(message("d", "longer than it was before, and about something else"));
    await session.appendMessage(message("another root"), null);
    await session.setActiveLeaf("c");
    await store.sessions.fork(MAIN, "e", { id: "fork", name: "fork" });
    await manager.compactAndSplit("fork", "What was said.");
    await manager.getSession("cleared").appendAll([message("a"), imageMessage("i", 2)]);
    await manager.getSession("cleared").clearMessages();
    const report = await checked(store);
    expect(report).toEqual({ ok: true, checked: report.checked, problems: [], repaired: 0 });
    expect((report.checked.assistant_messages ?? 0) > 8).toBe(true);
  });

  it("finds whatever was changed in a row, and mends it", ["check", "damage"], async (workspace) => {
    const { store, target } = workspace;
    await fill(workspace);
    const before = await shape(workspace);
    for (const { title, rule, sql } of DAMAGES) {
      if (sql.includes("_fts") && !store.capabilities.search) continue;
      await target.damage?.(store, sql);
      const found = await checked(store);
      expect([title, found.ok, found.problems.some((problem) => problem.rule === rule)]).toEqual([title, false, true]);
      const report = await checked(store, true);
      expect([title, report.problems.filter(({ repaired }) => !repaired)]).toEqual([title, []]);
      expect([title, report.ok, report.repaired]).toEqual([title, true, report.problems.length]);
      expect([title, (await checked(store)).problems]).toEqual([title, []]);
      expect([title, await shape(workspace)]).toEqual([title, before]);
    }
  });

  it("keeps a message that cannot be read, and tells of it", ["check", "corrupt"], async (workspace) => {
    const { store, session } = workspace;
    await forkedTree(session);
    await workspace.corrupt("b");
    for (const report of [await checked(store), await checked(store, true), await checked(store)]) {
      expect(report.ok).toBe(false);
      const [problem, ...others] = report.problems;
      expect(others).toEqual([]);
      expect([problem?.rule, problem?.sessionId, problem?.id, problem?.repaired]).toEqual([
        "content",
        MAIN,
        "b",
        false,
      ]);
    }
    expect((await session.getTree()).length).toBe(6);
    await session.updateMessage(message("b"));
    expect((await checked(store)).ok).toBe(true);
  });

  it("looks at one session where that is asked for", ["check", "damage"], async ({ store, target, sessionOf }) => {
    for (const id of ["one", "two"]) await forkedTree(sessionOf(id));
    await target.damage?.(store, "UPDATE assistant_messages SET tokens = 0 WHERE id = 'a'");
    const damaged = (report: CheckReport | undefined) => [...new Set(report?.problems.map((each) => each.sessionId))];
    expect(damaged(await store.check?.({ sessionId: "one" }))).toEqual(["one"]);
    const report = await store.check?.({ sessionId: "one", repair: true });
    expect([report?.ok, damaged(report)]).toEqual([true, ["one"]]);
    expect(damaged(await checked(store))).toEqual(["two"]);
    await expectError(async () => store.check?.({ sessionId: "none" }), "SESSION_NOT_FOUND");
  });

  it("looks at a session after the calls for it that were made before", ["check"], async ({ store, session }) => {
    await forkedTree(session);
    const options = [{}, { sessionId: MAIN }, { repair: true }, { sessionId: MAIN, repair: true }];
    for (const [round, each] of options.entries()) {
      const written = Array.from({ length: 8 }, (_, index) => session.appendMessage(message(`${round}-${index}`)));
      const report = await store.check?.(each);
      expect([each, report?.ok, report?.checked.assistant_messages]).toEqual([each, true, 6 + 8 * (round + 1)]);
      await Promise.all(written);
    }
  });

  it("tells in reads of rows that do not fit together", ["check", "damage"], async (workspace) => {
    const { store, target, session } = workspace;
    await fill(workspace);
    for (const { title, sql, read } of NOTICED) {
      await target.damage?.(store, sql);
      const error = await read(workspace).catch((thrown: unknown) => thrown);
      expect([title, StemmaError.isInstance(error) ? error.code : error]).toEqual([title, "CORRUPT_MESSAGE"]);
      // Whoever asks for what is left gets it.
      const rest = await session.getHistory(undefined, { onCorrupt: "skip" });
      expect([title, rest.length > 0]).toEqual([title, true]);
      expect([title, (await checked(store, true)).ok]).toEqual([title, true]);
    }
  });
});
