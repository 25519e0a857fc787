import { expect, expectError } from "../assert.js";
import { chain, collect, forkedTree, historyIds, idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";

export const history = defineTopic("history", (it) => {
  it("tells when messages were stored that have no time of their own", async ({ session, manager }) => {
    await session.appendMessage(message("a"));
    await session.appendMessage({ ...message("b"), createdAt: "2020-01-02T03:04:05.000Z" });
    await session.appendMessage({ ...message("c"), createdAt: new Date(0) });
    await session.appendMessage(message("d"));
    const tree = new Map((await session.getTree()).map(({ id, createdAt }) => [id, createdAt]));
    const dated = [
      { ...message("a"), createdAt: tree.get("a") },
      { ...message("b"), createdAt: "2020-01-02T03:04:05.000Z" },
      { ...message("c"), createdAt: new Date(0) },
      { ...message("d"), createdAt: tree.get("d") },
    ];
    const options = { createdAt: true };
    expect(await session.getHistory(null, options)).toEqual(dated);
    expect(await session.getHistory(null, { ...options, onCorrupt: "skip" })).toEqual(dated);
    expect(await session.getHistory("b", { ...options, summaries: false })).toEqual(dated.slice(0, 2));
    expect(await collect(session.history(options))).toEqual(dated);
    expect(await collect(session.history({ ...options, newestFirst: true, after: "c" }))).toEqual([dated[1], dated[0]]);
    for (const [index, id] of ["a", "b", "c", "d"].entries()) {
      expect(await session.getMessage(id, options)).toEqual(dated[index]);
    }
    expect(await session.getMessage("unknown", options)).toBe(null);
    expect(await manager.getHistory(session.id, null, options)).toEqual(dated);
    expect((await session.getHistory()).map(({ createdAt }) => createdAt === undefined)).toEqual([
      true,
      false,
      false,
      true,
    ]);
    await session.updateMessage(message("a", "edited"));
    expect((await session.getMessage("a", options))?.createdAt).toBe(tree.get("a"));
    await session.addCompaction("a summary", "a", "b");
    const [summary, ...rest] = await session.getHistory(null, options);
    expect([summary?.createdAt, rest]).toEqual([undefined, dated.slice(2)]);
    // @ts-expect-error: no other value
    await expectError(session.getHistory(null, { createdAt: "yes" }), "INVALID_ARGUMENT");
  });

  it("is empty for a session that nothing was written to", async ({ session }) => {
    expect(await session.getHistory()).toEqual([]);
    expect(await collect(session.history())).toEqual([]);
    expect(await session.getLatestLeaf()).toBe(null);
    expect(await session.getPathLength()).toBe(0);
    expect(await session.getTree()).toEqual([]);
    expect(await session.getCompactions()).toEqual([]);
    expect(await session.getRecentHistory(1000)).toEqual({ messages: [], truncated: false, totalContentBytes: 0 });
  });

  it("writes nothing by reading", async ({ session, manager }) => {
    await session.getHistory();
    await collect(session.history());
    await session.getRecentHistory(1000);
    await session.getPathLength();
    await session.search("word").catch(() => []);
    expect(await manager.list()).toEqual([]);
  });

  it("gives null for an unknown message, and refuses an unknown leaf", async ({ session }) => {
    const refusals = async () => {
      expect(await session.getMessage("unknown")).toBe(null);
      await expectError(session.getHistory("unknown"), "MESSAGE_NOT_FOUND");
      await expectError(() => collect(session.history({ leafId: "unknown" })), "MESSAGE_NOT_FOUND");
      await expectError(session.getPathLength("unknown"), "MESSAGE_NOT_FOUND");
      await expectError(session.getBranches("unknown"), "MESSAGE_NOT_FOUND");
      await expectError(session.setActiveLeaf("unknown"), "MESSAGE_NOT_FOUND");
    };
    await refusals();
    await session.appendMessage(message("a"));
    await refusals();
  });

  it("gives the stored messages in place of summaries when it is asked for them", async ({ session, store }) => {
    await forkedTree(session);
    const stored = await session.getHistory();
    await session.addCompaction("one", "root", "a");
    await session.addCompaction("two", "a", "d");
    expect(await historyIds(session)).toExclude("d");
    const options = { summaries: false };
    expect(await session.getHistory(undefined, options)).toEqual(stored);
    expect(await collect(session.history(options))).toEqual(stored);
    expect(await collect(session.history({ ...options, newestFirst: true }))).toEqual([...stored].reverse());
    expect(idsOf(await session.getHistory("c", options))).toEqual(["root", "a", "b", "c"]);
    expect((await store.session("main").path({ summaries: false })).messages).toEqual(stored);
  });

  it("gives every stored message of every branch with its place", async ({ session, store }) => {
    await forkedTree(session);
    await session.addCompaction("one", "root", "a");
    await session.appendAll(numbered("m", 300).map((id) => message(id)));
    const tree = await session.getTree();
    const found = await collect(store.session("main").messages());
    expect(found.map(({ message: { id }, parentId, createdAt }) => [id, parentId, createdAt])).toEqual(
      tree.map(({ id, parentId, createdAt }) => [id, parentId, createdAt]),
    );
    expect(found[3]?.message).toEqual(await session.getMessage("c"));
    expect(await collect(store.session("none").messages())).toEqual([]);
  });

  it("reads 3,000 messages back complete, as an array and as a stream each way", async ({ session }) => {
    const ids = numbered("m", 3000);
    await session.appendAll(ids.map((id) => message(id)));
    expect(await historyIds(session)).toEqual(ids);
    expect(idsOf(await collect(session.history()))).toEqual(ids);
    expect(idsOf(await collect(session.history({ newestFirst: true })))).toEqual(ids.slice().reverse());
    expect(await session.getPathLength()).toBe(3000);
  });

  it("streams what getHistory shows, of any leaf and each way, summaries included", async ({ session }) => {
    await forkedTree(session);
    await session.addCompaction("summary", "a", "b");
    for (const leafId of ["c", "e", "b", "root", undefined]) {
      const shown = await session.getHistory(leafId);
      expect(await collect(session.history({ leafId }))).toEqual(shown);
      expect(await collect(session.history({ leafId, newestFirst: true }))).toEqual(shown.slice().reverse());
    }
  });

  it("lets a reader stop a stream early, and write while it reads", async ({ session }) => {
    const ids = numbered("m", 500);
    await session.appendAll(ids.map((id) => message(id)));
    const seen: string[] = [];
    for await (const { id } of session.history()) {
      seen.push(id);
      if (seen.length === 100) await session.appendMessage(message("later"));
      if (seen.length === 200) break;
    }
    expect(seen).toEqual(ids.slice(0, 200));
    expect(idsOf(await collect(session.history())).length).toBe(501);
  });

  it("counts stored messages on the active path, not compactions, with getPathLength and getMessageCount", async (workspace) => {
    const { session, manager } = workspace;
    await forkedTree(session);
    await session.addCompaction("summary", "root", "d");
    expect((await session.getHistory()).length).toBe(2);
    expect(await session.getPathLength()).toBe(4);
    expect(await session.getPathLength("b")).toBe(3);
    expect(await manager.getMessageCount("main")).toBe(4);
  });

  it("cuts a recent history by bytes, newest last, and says whether anything was left out", async ({ session }) => {
    await chain(session, ["a", "b", "c", "d"]);
    const size = JSON.stringify(message("a")).length;
    const recent = async (bytes: number, minMessages?: number) => {
      const found = await session.getRecentHistory(bytes, minMessages === undefined ? {} : { minMessages });
      return [idsOf(found.messages), found.truncated, found.totalContentBytes];
    };
    expect(await recent(2 * size)).toEqual([["c", "d"], true, 2 * size]);
    expect(await recent(2 * size - 1)).toEqual([["d"], true, size]);
    expect(await recent(3 * size + 1)).toEqual([["b", "c", "d"], true, 3 * size]);
    expect(await recent(4 * size)).toEqual([["a", "b", "c", "d"], false, 4 * size]);
    expect(await recent(1_000_000)).toEqual([["a", "b", "c", "d"], false, 4 * size]);
    expect(await recent(0)).toEqual([["d"], true, size]);
    expect(await recent(0, 3)).toEqual([["b", "c", "d"], true, 3 * size]);
    expect(await recent(0, 9)).toEqual([["a", "b", "c", "d"], false, 4 * size]);
    expect(await recent(0, 0)).toEqual([[], true, 0]);
  });

  it("takes the windows of a recent history over what getHistory shows, summaries included", async ({ session }) => {
    await chain(session, numbered("m", 50));
    await session.addCompaction("summary", "m000000", "m000047");
    const shown = await session.getHistory();
    const found = await session.getRecentHistory(1_000_000);
    expect(found.messages).toEqual(shown);
    expect(found.truncated).toBe(false);
    expect(found.totalContentBytes).toBe(shown.reduce((sum, each) => sum + JSON.stringify(each).length, 0));
    expect((await session.getRecentHistory(0, { minMessages: 2 })).messages).toEqual(shown.slice(-2));
  });

  it("takes null for the active leaf, wherever a leaf is taken", async ({ session, manager, store }) => {
    await chain(session, ["a", "b", "c"]);
    await session.appendMessage(message("d"), "a");
    const shown = ["a", "d"];
    expect(idsOf(await session.getHistory(null))).toEqual(shown);
    expect(idsOf(await manager.getHistory(session.id, null))).toEqual(shown);
    expect(await session.getPathLength(null)).toBe(2);
    const streamed = [];
    for await (const { id } of session.history({ leafId: null })) streamed.push(id);
    expect(streamed).toEqual(shown);
    if (!store.capabilities.search) return;
    const found = await session.search("text", { leafId: null });
    expect(idsOf(found).sort()).toEqual(shown);
  });

  it("takes the least number of recent messages as a number too", async ({ session }) => {
    await chain(session, numbered("m", 10));
    expect(await session.getRecentHistory(1, 4)).toEqual(await session.getRecentHistory(1, { minMessages: 4 }));
    expect((await session.getRecentHistory(1, 4)).messages.length).toBe(4);
    await expectError(session.getRecentHistory(1, -1), "INVALID_ARGUMENT");
  });

  it("tells the size of each stored message of the active path, those under a summary and media included", async ({
    session,
  }) => {
    expect(await session.getHistoryRowStats()).toEqual([]);
    const url = `data:image/png;base64,${"A".repeat(300_000)}`;
    const image = { id: "image", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] };
    await chain(session, ["a", "b", "c"]);
    await session.addCompaction("summary", "a", "b");
    await session.appendMessage(message("side"), "a");
    await session.setActiveLeaf("c");
    await session.appendMessage(image);
    const stats = (await session.getHistoryRowStats()) ?? [];
    expect(stats.map(({ id, role }) => [id, role])).toEqual(["a", "b", "c", "image"].map((id) => [id, "user"]));
    expect(stats[0]?.bytes).toBe(JSON.stringify(await session.getMessage("a")).length);
    expect((stats[3]?.bytes ?? 0) > 300_000).toBe(true);
  });

  it("measures a message of a recent history with everything it holds", async ({ session }) => {
    const text = message("text", "漢".repeat(700_000));
    const url = `data:image/png;base64,${"A".repeat(300_000)}`;
    const image = { id: "image", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] };
    await session.appendAll([message("a"), text, image]);
    const bytesOf = (given: object) => new TextEncoder().encode(JSON.stringify(given)).length;
    for (const [shown, bytes] of [
      [["image"], bytesOf(image)],
      [["text", "image"], bytesOf(text) + bytesOf(image)],
    ] as const) {
      const found = await session.getRecentHistory(bytes);
      expect([idsOf(found.messages), found.truncated, found.totalContentBytes]).toEqual([shown, true, bytes]);
      const less = await session.getRecentHistory(bytes - 1);
      expect(less.messages.length).toBe(Math.max(1, shown.length - 1));
    }
  });

  it("measures a message with a date as it is shown", async ({ session }) => {
    await session.appendMessage({ ...message("a"), createdAt: new Date(0) });
    const { messages, totalContentBytes } = await session.getRecentHistory(0);
    expect(totalContentBytes).toBe(JSON.stringify(messages[0]).length);
  });

  it("refuses sizes that mean nothing", async ({ session }) => {
    for (const bytes of [-1, Number.NaN]) await expectError(session.getRecentHistory(bytes), "INVALID_ARGUMENT");
    for (const minMessages of [-1, 1.5]) {
      await expectError(session.getRecentHistory(10, { minMessages }), "INVALID_ARGUMENT");
    }
  });
});
