import type { SessionMessage } from "@stemma/model";
import { expect, expectError } from "../assert.js";
import { chain, historyIds, historyTexts, idsOf, message, numbered, snapshot } from "../samples.js";
import { defineTopic } from "../topic.js";

/** Appends and updates, and what each refuses. Deleting is the topic of `deleting.ts`. */
export const messages = defineTopic("messages", (it) => {
  it("appends below the active leaf when no parent is given", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    expect(await historyIds(session)).toEqual(["a", "b", "c"]);
    expect((await session.getLatestLeaf())?.id).toBe("c");
  });

  it("keeps the order of appends that were not awaited one by one", async ({ session }) => {
    const ids = numbered("m", 20);
    await Promise.all(ids.map((id) => session.appendMessage(message(id))));
    expect(await historyIds(session)).toEqual(ids);
  });

  it("orders by a sequence, not by a clock that stands still or runs backwards", async ({ session }) => {
    const RealDate = globalThis.Date;
    let clock = RealDate.parse("2026-01-01T00:00:00Z");
    globalThis.Date = class extends RealDate {
      constructor(...given: [] | [string | number | Date]) {
        super(given.length === 0 ? clock : given[0]);
      }
      static override now = () => clock;
    } as DateConstructor;
    try {
      await chain(session, ["a", "b"]);
      clock -= 3_600_000;
      await chain(session, ["c", "d"]);
    } finally {
      globalThis.Date = RealDate;
    }
    expect(await historyIds(session)).toEqual(["a", "b", "c", "d"]);
    expect(idsOf(await session.getTree())).toEqual(["a", "b", "c", "d"]);
  });

  it("keeps the order across a restart", ["durable"], async (workspace) => {
    await chain(workspace.session, ["b", "a"]);
    const { session } = await workspace.restart();
    await chain(session, ["d", "c"]);
    expect(await historyIds(session)).toEqual(["b", "a", "d", "c"]);
  });

  it("resolves an append to { inserted, message }, the stored form", async ({ session }) => {
    const given = { ...message("a"), createdAt: new Date(0), metadata: { kept: 1, dropped: undefined } };
    const { inserted, message: stored } = await session.appendMessage(given);
    expect(inserted).toBe(true);
    expect(stored).toEqual({ ...message("a"), createdAt: new Date(0), metadata: { kept: 1 } });
    expect(await session.getMessage("a")).toEqual(stored);
  });

  it("changes nothing when a known id is appended, whatever content or parent comes with it", async (workspace) => {
    const { session } = workspace;
    await chain(session, ["a", "b", "c"]);
    const before = await snapshot(workspace);
    for (const parent of [undefined, null, "b", "unknown"]) {
      const { inserted, message: stored } = await session.appendMessage(message("a", "another text"), parent);
      expect(inserted).toBe(false);
      expect(stored).toEqual(message("a"));
    }
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("lets the same id live in another session", async ({ session, sessionOf }) => {
    await session.appendMessage(message("a", "here"));
    expect((await sessionOf("other").appendMessage(message("a", "there"))).inserted).toBe(true);
    await sessionOf("other").updateMessage(message("a", "changed"));
    expect(await historyTexts(session)).toEqual(["here"]);
    expect(await historyTexts(sessionOf("other"))).toEqual(["changed"]);
  });

  it("makes a root of a message whose parent is null", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.appendMessage(message("r"), null);
    expect(await historyIds(session)).toEqual(["r"]);
    expect(await historyIds(session, "b")).toEqual(["a", "b"]);
  });

  it("refuses a parent that is not in this session, and stores nothing", async (workspace) => {
    const { session } = workspace;
    await workspace.sessionOf("other").appendMessage(message("elsewhere"));
    await chain(session, ["a"]);
    const before = await snapshot(workspace);
    await expectError(session.appendMessage(message("b"), "unknown"), "PARENT_NOT_FOUND");
    await expectError(session.appendMessage(message("b"), "elsewhere"), "PARENT_NOT_FOUND");
    await expectError(session.appendMessage(message("b"), ""), "PARENT_NOT_FOUND");
    await expectError(session.appendAll([message("b"), message("c")], "unknown"), "PARENT_NOT_FOUND");
    await expectError(session.upsertMessage(message("b"), "unknown"), "PARENT_NOT_FOUND");
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("does not register a session whose first append was refused", ["transactions"], async ({ manager }) => {
    await expectError(manager.append("new", message("a"), "unknown"), "PARENT_NOT_FOUND");
    expect(await manager.get("new")).toBe(null);
  });

  it("continues from the active leaf with appendAll, and chains its messages", async ({ session }) => {
    await chain(session, ["a"]);
    expect(await session.appendAll([message("b"), message("c")])).toEqual(["b", "c"]);
    await session.appendMessage(message("d"));
    expect(await historyIds(session)).toEqual(["a", "b", "c", "d"]);
  });

  it("attaches appendAll below the parent given, or as a root for null", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.appendAll([message("c"), message("d")], "a");
    expect(await historyIds(session)).toEqual(["a", "c", "d"]);
    await session.appendAll([message("r"), message("s")], null);
    expect(await historyIds(session)).toEqual(["r", "s"]);
  });

  it("leaves a known id in appendAll where it is, and goes on from it", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    const inserted = await session.appendAll([message("x"), message("b", "another text"), message("y"), message("y")]);
    expect(inserted).toEqual(["x", "y"]);
    expect(await historyTexts(session)).toEqual(["text of a", "text of b", "text of y"]);
    expect(await historyIds(session, "x")).toEqual(["a", "b", "c", "x"]);
  });

  it("makes the last message that an appendAll inserted the active leaf", async ({ session, store }) => {
    await chain(session, ["a", "b", "c"]);
    const list = [message("x"), message("b")];
    const result = await store.session("main").append(list);
    expect(result.insertedIds).toEqual(["x"]);
    expect(result.lastId).toBe("x");
    expect((await session.getLatestLeaf())?.id).toBe("x");
    expect(result.visibleTokens ?? (await store.session("main").tokens())).toBe(await store.session("main").tokens());
    await session.setActiveLeaf("a");
    const again = await store.session("main").append(list);
    expect([again.insertedIds, again.lastId]).toEqual([[], "a"]);
    expect((await session.getLatestLeaf())?.id).toBe("a");
  });

  it("gives a whole history back through appendAll without changing it", async (workspace) => {
    const { session } = workspace;
    await chain(session, ["a", "b", "c"]);
    const before = await snapshot(workspace);
    expect(await session.appendAll(await session.getHistory())).toEqual([]);
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("passes over its own summaries when a whole compacted history is saved back", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.addCompaction("summary", "a", "b");
    const shown = await session.getHistory();
    expect(await session.appendAll(shown)).toEqual([]);
    for (const each of shown) expect((await session.appendMessage(each)).inserted).toBe(false);
    for (const each of shown) await session.upsertMessage(each);
    for (const each of shown) await session.updateMessage(each);
    expect(idsOf(await session.getTree())).toEqual(["a", "b", "c"]);
    expect(await session.getHistory()).toEqual(shown);
    expect(await session.appendAll([...shown, message("d")])).toEqual(["d"]);
    expect(await historyTexts(session)).toEqual(["summary", "text of c", "text of d"]);
  });

  it("writes nothing for an empty appendAll", async ({ session, manager }) => {
    expect(await session.appendAll([])).toEqual([]);
    expect(await manager.list()).toEqual([]);
  });

  it("stores all messages of an appendAll or none", async (workspace) => {
    const { session } = workspace;
    await chain(session, ["a"]);
    const before = await snapshot(workspace);
    const broken = { id: "c", role: "user" } as unknown as SessionMessage;
    await expectError(session.appendAll([message("b"), broken]), "INVALID_MESSAGE");
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("refuses a message without id, role or parts before anything is written", async ({ session, manager }) => {
    const { id, role, parts } = message("a");
    const broken: unknown[] = [
      null,
      "text",
      [],
      {},
      { role, parts },
      { id, parts },
      { id, role },
      { id: "", role, parts },
      { id: 1, role, parts },
      { id, role: "", parts },
      { id, role, parts: "text" },
      { id, role, parts: [null] },
      { id, role, parts: ["text"] },
      { id, role, parts: [{ text: "without a type" }] },
      { id, role, parts, createdAt: new Date("no time") },
      { id: "x".repeat(5000), role, parts },
    ];
    for (const each of broken) {
      await expectError(session.appendMessage(each), "INVALID_MESSAGE");
      await expectError(session.appendAll([each]), "INVALID_MESSAGE");
      await expectError(session.updateMessage(each), "INVALID_MESSAGE");
      await expectError(session.upsertMessage(each), "INVALID_MESSAGE");
    }
    expect(await manager.list()).toEqual([]);
  });

  it("refuses what is not an array of messages", async ({ session }) => {
    for (const given of [undefined, null, message("a"), "text"]) {
      await expectError(() => session.appendAll(given as unknown as SessionMessage[]), "INVALID_ARGUMENT");
    }
  });

  it("refuses a message that JSON cannot hold", async ({ session }) => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    for (const metadata of [cyclic, { big: 1n }]) {
      await expectError(session.appendMessage({ ...message("a"), metadata }), "INVALID_MESSAGE");
    }
    // What JavaScript says of a text that is longer than it takes.
    const tooLong = () => {
      throw new RangeError("Invalid string length");
    };
    await expectError(session.appendMessage({ ...message("a"), metadata: { toJSON: tooLong } }), "MESSAGE_TOO_LARGE");
    expect(await session.getMessage("a")).toBe(null);
  });

  it("refuses ids with the reserved prefix compaction_, except its own summaries", async ({ session }) => {
    await expectError(session.appendMessage(message("compaction_1")), "INVALID_MESSAGE");
    await expectError(session.appendAll([message("a"), message("compaction_1")]), "INVALID_MESSAGE");
    await expectError(session.upsertMessage(message("compaction_1")), "INVALID_MESSAGE");
    await expectError(session.updateMessage(message("compaction_1")), "INVALID_MESSAGE");
    expect(await historyIds(session)).toEqual([]);
  });

  it("replaces a message's content with updateMessage, and keeps its place", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.updateMessage({ id: "b", role: "assistant", parts: [{ type: "text", text: "new" }] });
    expect(await historyTexts(session)).toEqual(["text of a", "new", "text of c"]);
    expect((await session.getMessage("b"))?.role).toBe("assistant");
    expect((await session.getLatestLeaf())?.id).toBe("c");
    await session.appendMessage(message("d"));
    expect(await historyIds(session)).toEqual(["a", "b", "c", "d"]);
  });

  it("refuses to update an unknown message", async ({ session, manager }) => {
    await expectError(session.updateMessage(message("a")), "MESSAGE_NOT_FOUND");
    expect(await manager.list()).toEqual([]);
    await chain(session, ["a"]);
    await expectError(session.updateMessage(message("b")), "MESSAGE_NOT_FOUND");
  });

  it("inserts with upsert where the id is new, and only then looks at the parent", async ({ session }) => {
    expect(await session.upsertMessage(message("a"))).toBe(true);
    expect(await session.upsertMessage(message("b"), "a")).toBe(true);
    expect(await session.upsertMessage(message("a", "new"), "unknown")).toBe(false);
    expect(await session.upsertMessage(message("b", "new"), null)).toBe(false);
    expect(await historyIds(session)).toEqual(["a", "b"]);
    expect(await historyTexts(session)).toEqual(["new", "new"]);
  });

  it("tells subscribers what changed, after it is stored", async ({ session }) => {
    const seen: string[] = [];
    const unsubscribe = session.subscribe((event) => {
      if (event.type === "messages") seen.push(`${event.change} ${event.ids.join(",")}`);
    });
    await session.appendAll([message("a"), message("b"), message("c")]);
    await session.appendMessage(message("a"));
    await session.updateMessage(message("a", "new"));
    await session.upsertMessage(message("a", "newer"));
    await session.upsertMessage(message("d"));
    await session.setActiveLeaf("c");
    const { id } = await session.addCompaction("summary", "a", "b");
    await session.deleteMessages(["c", "unknown"]);
    await session.clearMessages();
    unsubscribe();
    await session.appendMessage(message("e"));
    expect(seen).toEqual([
      "append a,b,c",
      "update a",
      "update a",
      "append d",
      "leaf c",
      `compaction ${id}`,
      "delete c",
      "clear ",
    ]);
  });
});
