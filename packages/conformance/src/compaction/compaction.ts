// One topic of the suite: its cases, one after the other.

import type { SessionMessage } from "@stemma/model";
import { digestMessage, digestRange, estimateTokens } from "@stemma/model";
import type { Session } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { chain, forkedTree, historyIds, historyTexts, idsOf, message, numbered, snapshot, textOf } from "../samples.js";
import { defineTopic } from "../topic.js";

const LETTERS = ["a", "b", "c", "d", "e", "f"];

/** Reads over compactions, and what becomes of these. When they are made is the topic of `compacting.ts` and `automatic-compaction.ts`. */
export const compaction = defineTopic("compaction", (it) => {
  it("shows one synthetic message in the place of a compacted range", async ({ session }) => {
    await chain(session, LETTERS);
    const { id } = await session.addCompaction("what b to d said", "b", "d");
    expect(await session.getHistory()).toEqual([
      message("a"),
      { id: `compaction_${id}`, role: "assistant", parts: [{ type: "text", text: "what b to d said" }] },
      message("e"),
      message("f"),
    ]);
  });

  it("gives compactions as { id, summary, fromMessageId, toMessageId, createdAt }, oldest first", async ({
    session,
  }) => {
    await session.appendMessage({ ...message("a"), createdAt: new Date("2001-01-01") });
    await chain(session, ["b", "c"]);
    const start = Date.now();
    const first = await session.addCompaction("one", "a", "b");
    const second = await session.addCompaction("two", "a", "c");
    expect(Object.keys(first).sort()).toEqual(["createdAt", "fromMessageId", "id", "summary", "toMessageId"]);
    expect([first.summary, first.fromMessageId, first.toMessageId]).toEqual(["one", "a", "b"]);
    // When the compaction was made, by whichever clock the store goes, and not when its messages were.
    expect(first.createdAt).toBe(new Date(first.createdAt).toISOString());
    expect(Math.abs(Date.parse(first.createdAt) - start)).toBeAtMost(60_000);
    expect(await session.getCompactions()).toEqual([first, second]);
  });

  it("keeps compactions across a restart", ["durable"], async (workspace) => {
    await chain(workspace.session, LETTERS);
    const made = await workspace.session.addCompaction("summary", "a", "c");
    const { session } = await workspace.restart();
    expect(await session.getCompactions()).toEqual([made]);
    expect(await historyTexts(session)).toEqual(["summary", "text of d", "text of e", "text of f"]);
  });

  it("lays a summary over a single message, and over a whole history", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.addCompaction("only b", "b", "b");
    expect(await historyTexts(session)).toEqual(["text of a", "only b", "text of c"]);
    await session.addCompaction("all", "a", "c");
    expect(await historyTexts(session)).toEqual(["all"]);
    await session.appendMessage(message("d"));
    expect(await historyTexts(session)).toEqual(["all", "text of d"]);
    expect(await historyIds(session, "d")).toEqual(await historyIds(session));
  });

  it("applies compactions that do not touch each other side by side", async ({ session }) => {
    await chain(session, LETTERS);
    await session.addCompaction("second", "d", "e");
    await session.addCompaction("first", "a", "b");
    expect(await historyTexts(session)).toEqual(["first", "text of c", "second", "text of f"]);
  });

  it("lets the newest compaction win wherever two overlap", async ({ session }) => {
    await chain(session, LETTERS);
    await session.addCompaction("old", "b", "d");
    await session.addCompaction("wider", "a", "e");
    expect(await historyTexts(session)).toEqual(["wider", "text of f"]);
    await session.addCompaction("narrower", "c", "c");
    expect(await historyTexts(session)).toEqual([
      "text of a",
      "text of b",
      "narrower",
      "text of d",
      "text of e",
      "text of f",
    ]);
    await session.addCompaction("crossing", "c", "f");
    expect(await historyTexts(session)).toEqual(["text of a", "text of b", "crossing"]);
  });

  it("applies a compaction only where its whole range lies on the path being read", async ({ session }) => {
    await forkedTree(session);
    await session.addCompaction("b and c", "b", "c");
    expect(await historyTexts(session)).toEqual(["text of root", "text of a", "text of d", "text of e"]);
    expect(await historyTexts(session, "c")).toEqual(["text of root", "text of a", "b and c"]);
    expect(await historyTexts(session, "b")).toEqual(["text of root", "text of a", "text of b"]);
  });

  it("lets a compaction of a common range show on every branch", async ({ session }) => {
    await forkedTree(session);
    await session.addCompaction("start", "root", "a");
    expect(await historyTexts(session)).toEqual(["start", "text of d", "text of e"]);
    expect(await historyTexts(session, "c")).toEqual(["start", "text of b", "text of c"]);
    expect(await historyTexts(session, "root")).toEqual(["text of root"]);
  });

  it("never lets the compactions of siblings hide each other", async ({ session }) => {
    await forkedTree(session);
    await session.addCompaction("left", "root", "b");
    await session.addCompaction("right", "root", "d");
    expect(await historyTexts(session, "c")).toEqual(["left", "text of c"]);
    expect(await historyTexts(session, "e")).toEqual(["right", "text of e"]);
  });

  it("falls back to the older compaction where a newer one does not lie on the path", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.addCompaction("older", "a", "b");
    await session.addCompaction("newer", "a", "c");
    await session.appendMessage(message("d"), "b");
    expect(await historyTexts(session)).toEqual(["older", "text of d"]);
    expect(await historyTexts(session, "c")).toEqual(["newer"]);
  });

  it("shows the originals on a branch that starts inside a compacted range", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    await session.addCompaction("all", "a", "c");
    await session.appendMessage(message("d"), "b");
    expect(await historyIds(session)).toEqual(["a", "b", "d"]);
  });

  it("refuses unknown ids, reversed ranges and ranges that are not on one path", async (workspace) => {
    const { session, sessionOf } = workspace;
    await forkedTree(session);
    await sessionOf("other").appendMessage(message("elsewhere"));
    const before = await snapshot(workspace);
    for (const [from, to] of [
      ["unknown", "a"],
      ["a", "unknown"],
      ["elsewhere", "elsewhere"],
      ["compaction_unknown", "c"],
      ["b", "a"],
      ["c", "d"],
      ["d", "c"],
      ["b", "e"],
    ] as const) {
      await expectError(session.addCompaction("summary", from, to), "COMPACTION_INVALID_RANGE");
    }
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("refuses a compaction whose maker saw another history than is visible now", async (workspace) => {
    const { session, store } = workspace;
    await chain(session, LETTERS);
    const addSeeing = (leafId: string, messages: SessionMessage[]) =>
      store
        .session("main")
        .addCompaction(
          { id: crypto.randomUUID(), summary: "s", fromMessageId: "a", toMessageId: "c" },
          { leafId, digest: digestRange(messages.map(digestMessage)) },
        );
    const add = (leafId: string, ...ids: string[]) =>
      addSeeing(
        leafId,
        ids.map((id) => message(id)),
      );
    const before = await snapshot(workspace);
    await expectError(add("f", "a", "c"), "COMPACTION_STALE");
    await expectError(add("f", "a", "x", "b", "c"), "COMPACTION_STALE");
    await expectError(add("f", "a", "c", "b"), "COMPACTION_STALE");
    await expectError(add("gone", "a", "b", "c"), "COMPACTION_STALE");
    await expectError(addSeeing("f", [message("a"), message("b", "as it was"), message("c")]), "COMPACTION_STALE");
    const asModel = { ...message("b"), role: "assistant" };
    await expectError(addSeeing("f", [message("a"), asModel, message("c")]), "COMPACTION_STALE");
    expect(await snapshot(workspace)).toEqual(before);
    await add("f", "a", "b", "c");
    expect(await historyTexts(session)).toEqual(["s", "text of d", "text of e", "text of f"]);
    await expectError(add("f", "a", "b", "c"), "COMPACTION_STALE");
  });

  it("does not register a session whose compaction was refused", ["transactions"], async ({ session, manager }) => {
    await expectError(session.addCompaction("summary", "a", "b"), "COMPACTION_INVALID_RANGE");
    expect(await manager.list()).toEqual([]);
  });

  it("takes the id of a visible summary as the end of a range, and includes what it covers", async ({ session }) => {
    await chain(session, LETTERS);
    const first = await session.addCompaction("a to c", "a", "c");
    const second = await session.addCompaction("a to d", `compaction_${first.id}`, "d");
    expect([second.fromMessageId, second.toMessageId]).toEqual(["a", "d"]);
    expect(await historyTexts(session)).toEqual(["a to d", "text of e", "text of f"]);
    const third = await session.addCompaction("again", `compaction_${second.id}`, `compaction_${second.id}`);
    expect([third.fromMessageId, third.toMessageId]).toEqual(["a", "d"]);
  });

  it("shrinks a range whose end is deleted, as long as a message of it is left", async ({ session }) => {
    await chain(session, LETTERS);
    await session.addCompaction("summary", "b", "e");
    const covered = async () => {
      const [compaction] = await session.getCompactions();
      return compaction === undefined ? null : [compaction.fromMessageId, compaction.toMessageId];
    };
    await session.deleteMessages(["b"]);
    expect(await covered()).toEqual(["c", "e"]);
    expect(await historyTexts(session)).toEqual(["text of a", "summary", "text of f"]);
    await session.deleteMessages(["e"]);
    expect(await covered()).toEqual(["c", "d"]);
    expect(await historyTexts(session)).toEqual(["text of a", "summary", "text of f"]);
    await session.deleteMessages(["d"]);
    expect(await covered()).toEqual(["c", "c"]);
    expect(await historyTexts(session)).toEqual(["text of a", "summary", "text of f"]);
    await session.deleteMessages(["c"]);
    expect(await covered()).toEqual(null);
    expect(await historyTexts(session)).toEqual(["text of a", "text of f"]);
  });

  it("shrinks a range whose ends are deleted in one call, across a fork", async ({ session }) => {
    await forkedTree(session);
    await session.addCompaction("summary", "a", "e");
    await session.deleteMessages(["a", "e"]);
    expect(await historyTexts(session)).toEqual(["text of root", "summary"]);
    expect((await session.getCompactions()).map((each) => [each.fromMessageId, each.toMessageId])).toEqual([
      ["d", "d"],
    ]);
    expect(await historyTexts(session, "c")).toEqual(["text of root", "text of b", "text of c"]);
  });

  it("keeps a range whose middle is deleted", async ({ session }) => {
    await chain(session, LETTERS);
    const { id } = await session.addCompaction("summary", "b", "e");
    await session.deleteMessages(["c", "d"]);
    expect(await historyTexts(session)).toEqual(["text of a", "summary", "text of f"]);
    expect(idsOf(await session.expandCompaction(id))).toEqual(["b", "e"]);
  });

  it("keeps covering a message that is updated", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    const { id } = await session.addCompaction("summary", "a", "b");
    await session.updateMessage(message("b", "new"));
    expect(await historyTexts(session)).toEqual(["summary", "text of c"]);
    expect((await session.expandCompaction(id)).map(textOf)).toEqual(["text of a", "new"]);
  });

  it("gives the original messages under a compaction, by its id or its synthetic message's", async ({ session }) => {
    await chain(session, LETTERS);
    const { id } = await session.addCompaction("summary", "b", "d");
    const originals = [message("b"), message("c"), message("d")];
    expect(await session.expandCompaction(id)).toEqual(originals);
    expect(await session.expandCompaction(`compaction_${id}`)).toEqual(originals);
    const wider = await session.addCompaction("wider", "a", "e");
    expect(idsOf(await session.expandCompaction(wider.id))).toEqual(["a", "b", "c", "d", "e"]);
    expect(await session.expandCompaction(id)).toEqual(originals);
    await expectError(session.expandCompaction("unknown"), "COMPACTION_NOT_FOUND");
    await expectError(session.expandCompaction("a"), "COMPACTION_NOT_FOUND");
  });

  it("takes a summary back, by its id or its synthetic message's, and shows what it covered", async (workspace) => {
    const { session, manager } = workspace;
    await chain(session, LETTERS);
    const before = await session.getHistory();
    for (const prefix of ["", "compaction_"]) {
      const { id } = await session.addCompaction("summary", "b", "d");
      await session.removeCompaction(prefix + id);
      expect(await session.getHistory()).toEqual(before);
      expect(await session.getCompactions()).toEqual([]);
      await expectError(session.removeCompaction(prefix + id), "COMPACTION_NOT_FOUND");
      await expectError(session.expandCompaction(id), "COMPACTION_NOT_FOUND");
    }
    await expectError(session.removeCompaction("a"), "COMPACTION_NOT_FOUND");
    await expectError(manager.removeCompaction("no session", "a"), "COMPACTION_NOT_FOUND");
    expect(await manager.get("no session")).toBe(null);
  });

  it("shows the older summary again when the one over it is taken back", async ({ session, manager }) => {
    await forkedTree(session);
    const old = await session.addCompaction("old", "root", "a");
    const left = await session.addCompaction("left", "root", "b");
    const right = await session.addCompaction("right", "root", "d");
    await manager.removeCompaction(session.id, right.id);
    expect(await historyTexts(session)).toEqual(["old", "text of d", "text of e"]);
    expect(await historyTexts(session, "c")).toEqual(["left", "text of c"]);
    expect(idsOf(await session.getCompactions())).toEqual([old.id, left.id]);
    const again = await session.addCompaction("again", "root", "e");
    expect(idsOf(await session.getCompactions())).toEqual([old.id, left.id, again.id]);
    await session.removeCompaction(old.id);
    expect(await historyTexts(session)).toEqual(["again"]);
  });

  it("keeps a summary that was taken back away across a restart", ["durable"], async (workspace) => {
    await chain(workspace.session, LETTERS);
    const kept = await workspace.session.addCompaction("kept", "a", "b");
    const { id } = await workspace.session.addCompaction("taken back", "a", "d");
    await workspace.session.removeCompaction(id);
    const { session } = await workspace.restart();
    expect(await session.getCompactions()).toEqual([kept]);
    expect(await historyTexts(session)).toEqual(["kept", ...["c", "d", "e", "f"].map((each) => `text of ${each}`)]);
  });

  it("tells of a summary that is taken back, of a branch that is selected and of an edited message", async (workspace) => {
    const session = workspace.sessionOf("watched").compactAfter(1_000_000);
    await forkedTree(session);
    const { id } = await session.addCompaction("summary", "root", "d");
    const told: unknown[] = [];
    session.subscribe((event) => {
      if (event.type === "messages") told.push([event.change, event.ids]);
      else if (event.type === "cf_agent_session") told.push(event.tokenEstimate);
    });
    await session.removeCompaction(`compaction_${id}`);
    await session.selectBranch("b");
    await session.editMessage("b", message("x"));
    const tokens = (...ids: string[]) => estimateTokens(ids.map((each) => message(each)));
    expect(told).toEqual([
      ["compaction_removed", [id]],
      tokens("root", "a", "d", "e"),
      ["leaf", ["c"]],
      ["append", ["x"]],
      tokens("root", "a", "x"),
    ]);
  });

  it("keeps any text in a summary, or refuses it with a typed error", async ({ session }) => {
    await chain(session, ["a"]);
    await session.addCompaction("é 漢字 🎉 \" ' \\ \n %", "a", "a");
    expect(await historyTexts(session)).toEqual(["é 漢字 🎉 \" ' \\ \n %"]);
    for (const text of ["a\0b", "\ud83d"]) {
      const stored = await session.addCompaction(text, "a", "a").catch((error) => error.code as string);
      if (stored !== "INVALID_TEXT") expect(await historyTexts(session)).toEqual([text]);
    }
  });

  it("estimates the visible history when compactions, edits, deletes and branches change it", async (workspace) => {
    const { session, store } = workspace;
    const check = async () => {
      for (const leafId of [undefined, ...idsOf(await session.getTree())]) {
        const shown = estimateTokens(await session.getHistory(leafId));
        expect(await store.session("main").tokens(leafId)).toBe(shown);
      }
    };
    await forkedTree(session);
    await check();
    await session.addCompaction("a longer summary of the start of it all", "root", "b");
    await check();
    const { id: taken } = await session.addCompaction("a summary that is taken back", "a", "d");
    await check();
    await session.removeCompaction(taken);
    await check();
    await session.appendMessage(message("f", "some more words"), "c");
    await check();
    await session.editMessage("b", message("edited", "other words"));
    await session.selectBranch("f");
    await check();
    await session.updateMessage(message("a", "now this message is a lot longer than it was"));
    await check();
    await session.deleteMessages(["root"]);
    await check();
    await session.setActiveLeaf("d");
    await session.appendAll([message("g"), message("h")]);
    await check();
    await session.addCompaction("short", "d", "h");
    await session.deleteMessages(["h"]);
    await check();
    await session.appendMessage(message("h", "another one"));
    await check();
  });

  it("estimates anew after each single change of a history whose estimate was known", async ({ sessionOf, store }) => {
    const changes: [string, (session: Session) => Promise<unknown>][] = [
      ["delete in the middle", (session) => session.deleteMessages(["b"])],
      ["delete of the leaf", (session) => session.deleteMessages(["d"])],
      ["update in the middle", (session) => session.updateMessage(message("b", "many more words than before"))],
      ["update of the leaf", (session) => session.updateMessage(message("d", "many more words than before"))],
      ["compaction", (session) => session.addCompaction("a summary of some length", "a", "c")],
      [
        "compaction and its removal",
        async (session) => {
          const { id } = await session.addCompaction("a summary of some length", "a", "c");
          await session.appendMessage(message("e"));
          await session.removeCompaction(id);
        },
      ],
      ["branch", (session) => session.appendMessage(message("e"), "b")],
      ["edit", (session) => session.editMessage("b", message("e"))],
      ["leaf", (session) => session.setActiveLeaf("b")],
      ["clear", (session) => session.clearMessages()],
    ];
    for (const [name, change] of changes) {
      // A store may be choosy about ids.
      const id = name.replaceAll(" ", "-");
      const session = sessionOf(id);
      await chain(session, ["a", "b", "c", "d"]);
      const estimate = async () => [await store.session(id).tokens(), estimateTokens(await session.getHistory())];
      for (const step of [async () => {}, change, () => session.appendMessage(message("later"))]) {
        await step(session);
        const [stored, measured] = await estimate();
        expect(stored).toBe(measured);
      }
    }
  });

  it("knows the estimate at each plain append, without measuring the history", async ({ store, session }) => {
    for (const id of numbered("m", 20)) {
      const { visibleTokens } = await store.session("main").append([message(id)]);
      expect(visibleTokens).toBe(estimateTokens(await session.getHistory()));
    }
  });
});
