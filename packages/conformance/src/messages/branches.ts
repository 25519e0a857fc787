// One topic of the suite: its cases, one after the other.
import { expect, expectError } from "../assert.js";
import {
  chain,
  encoded,
  forkedTree,
  historyIds,
  idsOf,
  importedTree,
  message,
  numbered,
  snapshot,
} from "../samples.js";
import { defineTopic } from "../topic.js";

export const branches = defineTopic("branches", (it) => {
  it("branches where a parent that has children gets another one", async ({ session }) => {
    await forkedTree(session);
    expect(await historyIds(session)).toEqual(["root", "a", "d", "e"]);
    expect(await historyIds(session, "c")).toEqual(["root", "a", "b", "c"]);
  });

  it("gives all children of a message, oldest first", async ({ session, manager }) => {
    await forkedTree(session);
    expect(idsOf(await session.getBranches("a"))).toEqual(["b", "d"]);
    expect(idsOf(await session.getBranches("root"))).toEqual(["a"]);
    expect(idsOf(await manager.getBranches(session.id, "a"))).toEqual(["b", "d"]);
    expect(await session.getBranches("e")).toEqual([]);
    await session.appendMessage(message("f"), "a");
    expect(await session.getBranches("a")).toEqual([message("b"), message("d"), message("f")]);
    await expectError(session.getBranches("unknown"), "MESSAGE_NOT_FOUND");
  });

  it("gives children in the order they were written, also after one was deleted", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.appendMessage(message("c"), "a");
    await session.deleteMessages(["b"]);
    await session.appendMessage(message("d"), "a");
    expect(idsOf(await session.getBranches("a"))).toEqual(["c", "d"]);
  });

  it("reads the path to any message, leaf or not", async ({ session }) => {
    await forkedTree(session);
    expect(await historyIds(session, "b")).toEqual(["root", "a", "b"]);
    expect(await historyIds(session, "root")).toEqual(["root"]);
    await expectError(session.getHistory("unknown"), "MESSAGE_NOT_FOUND");
  });

  it("takes the id of a summary for the last message under it", async ({ manager, session }) => {
    await chain(session, ["a", "b", "c", "d"]);
    const { id } = await session.addCompaction("summary", "b", "c");
    const summary = (await historyIds(session))[1] as string;
    expect(summary).toBe(`compaction_${id}`);
    expect(await historyIds(session, summary)).toEqual(["a", summary]);
    expect(await session.getPathLength(summary)).toBe(3);
    expect(idsOf(await session.getBranches(summary))).toEqual(["d"]);
    await session.appendMessage(message("e"), summary);
    expect(await historyIds(session)).toEqual(["a", summary, "e"]);
    expect(idsOf(await session.getBranches("c"))).toEqual(["d", "e"]);
    await session.setActiveLeaf(summary);
    expect((await session.getLatestLeaf())?.id).toBe("c");
    const fork = await manager.fork(session.id, summary, "fork");
    expect(idsOf(await manager.getHistory(fork.id))).toEqual(["a", summary]);
    expect(idsOf(await session.search("text", { leafId: summary })).sort()).toEqual(["a", "b", "c"]);
    expect(await session.getMessage(summary)).toBe(null);
    await session.deleteMessages([summary]);
    await expectError(session.setActiveLeaf("compaction_unknown"), "MESSAGE_NOT_FOUND");
    await expectError(session.appendMessage(message("f"), "compaction_unknown"), "PARENT_NOT_FOUND");
    expect(await session.getPathLength()).toBe(3);
  });

  it("makes the last appended message the active leaf, on whatever branch it is", async ({ session }) => {
    await forkedTree(session);
    await session.appendMessage(message("f"), "b");
    expect((await session.getLatestLeaf())?.id).toBe("f");
    expect(await historyIds(session)).toEqual(["root", "a", "b", "f"]);
  });

  it("keeps the active leaf when a message elsewhere is updated or deleted", async ({ session }) => {
    await forkedTree(session);
    await session.updateMessage(message("c", "new"));
    await session.deleteMessages(["c"]);
    expect((await session.getLatestLeaf())?.id).toBe("e");
    await session.setActiveLeaf("b");
    await session.deleteMessages(["e"]);
    expect((await session.getLatestLeaf())?.id).toBe("b");
  });

  it("reads and continues from the leaf chosen with setActiveLeaf, which may be any message", async ({ session }) => {
    await forkedTree(session);
    await session.setActiveLeaf("c");
    expect(await historyIds(session)).toEqual(["root", "a", "b", "c"]);
    expect(await session.getPathLength()).toBe(4);
    await session.setActiveLeaf("a");
    expect(await historyIds(session)).toEqual(["root", "a"]);
    await session.appendMessage(message("f"));
    expect(await historyIds(session)).toEqual(["root", "a", "f"]);
    expect(idsOf(await session.getBranches("a"))).toEqual(["b", "d", "f"]);
    await expectError(session.setActiveLeaf("unknown"), "MESSAGE_NOT_FOUND");
  });

  it("gives the parent of a message, and null for a root", async ({ session, manager }) => {
    await forkedTree(session);
    await session.appendMessage(message("r"), null);
    expect(await session.getParent("d")).toEqual(message("a"));
    expect(await session.getParent("c")).toEqual(message("b"));
    expect(await session.getParent("root")).toBe(null);
    expect(await session.getParent("r")).toBe(null);
    await session.deleteMessages(["a"]);
    expect(await session.getParent("d")).toEqual(message("root"));
    expect(await manager.getParent(session.id, "b")).toEqual(message("root"));
    await expectError(session.getParent("unknown"), "MESSAGE_NOT_FOUND");
    await expectError(manager.getParent("no session", "root"), "MESSAGE_NOT_FOUND");
  });

  it("gives the siblings of a message, itself among them, in the order they were written", async (workspace) => {
    const { session, manager } = workspace;
    await forkedTree(session);
    await session.appendMessage(message("f"), "a");
    for (const id of ["b", "d", "f"]) {
      expect(await session.getSiblings(id)).toEqual([message("b"), message("d"), message("f")]);
    }
    expect(idsOf(await session.getSiblings("c"))).toEqual(["c"]);
    expect(idsOf(await manager.getSiblings(session.id, "a"))).toEqual(["a"]);
    await session.deleteMessages(["b"]);
    expect(idsOf(await session.getSiblings("f"))).toEqual(["c", "d", "f"]);
    await session.deleteMessages(["c"]);
    expect(idsOf(await session.getSiblings("d"))).toEqual(["d", "f"]);
    await expectError(session.getSiblings("b"), "MESSAGE_NOT_FOUND");
    await expectError(session.getSiblings("unknown"), "MESSAGE_NOT_FOUND");
  });

  it("gives the ids of children and siblings alone", async ({ session, manager }) => {
    await forkedTree(session);
    await session.appendMessage(message("f"), "a");
    await session.appendMessage(message("r"), null);
    const all = ["root", "a", "b", "c", "d", "e", "f", "r"];
    for (const id of all) expect(await session.getBranchIds(id)).toEqual(idsOf(await session.getBranches(id)));
    const siblings = async () => {
      const found = await Promise.all(
        all.map(async (id) => [id, await session.getSiblings(id).then(idsOf, () => null)]),
      );
      return Object.fromEntries(found.filter(([, ids]) => ids !== null));
    };
    expect(await session.getSiblingIds(["e", ...all, "unknown", "compaction_x"])).toEqual(await siblings());
    for (const id of ["b", "root", "c"]) {
      await session.deleteMessages([id]);
      expect(await session.getSiblingIds(all)).toEqual(await siblings());
    }
    expect(await session.getSiblingIds(["f", "a"])).toEqual({ f: ["d", "f"], a: ["a", "r"] });
    expect(await manager.getSiblingIds(session.id, ["f"])).toEqual({ f: ["d", "f"] });
    expect(await manager.getBranchIds(session.id, "a")).toEqual(["d", "f"]);
    expect(await session.getSiblingIds([])).toEqual({});
    expect(await manager.getSiblingIds("no session", ["f"])).toEqual({});
    await expectError(session.getBranchIds("unknown"), "MESSAGE_NOT_FOUND");
  });

  it("takes all roots for siblings", async ({ session }) => {
    await forkedTree(session);
    expect(idsOf(await session.getSiblings("root"))).toEqual(["root"]);
    await session.appendMessage(message("r"), null);
    await session.appendMessage(message("s"), null);
    for (const id of ["root", "r", "s"]) expect(idsOf(await session.getSiblings(id))).toEqual(["root", "r", "s"]);
    await session.deleteMessages(["root"]);
    expect(idsOf(await session.getSiblings("s"))).toEqual(["a", "r", "s"]);
    await session.deleteMessages(["a", "b", "c", "d", "e"]);
    expect(idsOf(await session.getSiblings("r"))).toEqual(["r", "s"]);
    await session.deleteMessages(["s"]);
    expect(idsOf(await session.getSiblings("r"))).toEqual(["r"]);
  });

  it("selects the newest leaf below a message", async ({ session, manager }) => {
    await forkedTree(session);
    expect(await session.selectBranch("b")).toEqual(message("c"));
    expect((await session.getLatestLeaf())?.id).toBe("c");
    expect(await historyIds(session)).toEqual(["root", "a", "b", "c"]);
    expect((await session.selectBranch("d")).id).toBe("e");
    expect((await manager.selectBranch(session.id, "c")).id).toBe("c");
    // The newest leaf of all is below it, whichever was chosen.
    expect((await session.selectBranch("root")).id).toBe("e");
    await session.appendMessage(message("f"), "c");
    expect((await session.selectBranch("a")).id).toBe("f");
    expect((await session.selectBranch("d")).id).toBe("e");
    await session.appendMessage(message("g"));
    expect(await historyIds(session)).toEqual(["root", "a", "d", "e", "g"]);
    expect((await session.selectBranch("b")).id).toBe("f");
    const before = await session.getLatestLeaf();
    await expectError(session.selectBranch("unknown"), "MESSAGE_NOT_FOUND");
    expect(await session.getLatestLeaf()).toEqual(before);
  });

  it("selects a leaf of a branch that begins below, and none of one that begins beside it", async ({ session }) => {
    await chain(session, ["root", "a", "b"]);
    await session.appendMessage(message("beside a"), "root");
    await session.appendMessage(message("below a"), "a");
    await session.appendMessage(message("below that"), "below a");
    await session.appendMessage(message("x"), "beside a");
    await session.appendMessage(message("other root"), null);
    expect((await session.selectBranch("a")).id).toBe("below that");
    expect((await session.selectBranch("b")).id).toBe("b");
    expect((await session.selectBranch("beside a")).id).toBe("x");
    expect((await session.selectBranch("root")).id).toBe("x");
    await session.deleteMessages(["below that"]);
    expect((await session.selectBranch("a")).id).toBe("below a");
  });

  it("keeps the selected branch across a restart", ["durable"], async (workspace) => {
    await forkedTree(workspace.session);
    await workspace.session.selectBranch("b");
    const { session } = await workspace.restart();
    expect((await session.getLatestLeaf())?.id).toBe("c");
    expect(idsOf(await session.getSiblings("b"))).toEqual(["b", "d"]);
    expect((await session.selectBranch("d")).id).toBe("e");
  });

  it("appends an edited message as a sibling, and makes it active", async ({ session, manager }) => {
    await forkedTree(session);
    await session.setActiveLeaf("c");
    const edited = await session.editMessage("b", message("b2"));
    expect([edited.inserted, edited.message]).toEqual([true, message("b2")]);
    expect(await historyIds(session)).toEqual(["root", "a", "b2"]);
    expect(idsOf(await session.getSiblings("b"))).toEqual(["b", "d", "b2"]);
    expect(await historyIds(session, "c")).toEqual(["root", "a", "b", "c"]);
    expect((await manager.editMessage(session.id, "b2", message("b3"))).inserted).toBe(true);
    expect(idsOf(await manager.getSiblings(session.id, "b"))).toEqual(["b", "d", "b2", "b3"]);
    await session.editMessage("root", message("r"));
    expect(await historyIds(session)).toEqual(["r"]);
    expect(idsOf(await session.getSiblings("root"))).toEqual(["root", "r"]);
  });

  it("edits no message that is not there, and none under its own id", async (workspace) => {
    const { session } = workspace;
    await forkedTree(session);
    const before = await snapshot(workspace);
    await expectError(session.editMessage("unknown", message("x")), "MESSAGE_NOT_FOUND");
    await expectError(session.editMessage("b", message("b", "edited")), "INVALID_MESSAGE");
    await expectError(session.editMessage("b", { id: "x", role: "user" }), "INVALID_MESSAGE");
    await expectError(session.editMessage("b", message("compaction_x")), "INVALID_MESSAGE");
    const known = await session.editMessage("b", message("e", "not stored"));
    expect([known.inserted, known.message]).toEqual([false, message("e")]);
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("takes the id of a summary in a tree for the last message under it", async ({ session }) => {
    await chain(session, ["a", "b", "c", "d"]);
    const summary = `compaction_${(await session.addCompaction("summary", "b", "c")).id}`;
    await session.appendMessage(message("e"), "b");
    expect((await session.getParent(summary))?.id).toBe("b");
    expect(idsOf(await session.getSiblings(summary))).toEqual(["c", "e"]);
    expect((await session.selectBranch(summary)).id).toBe("d");
    await session.editMessage(summary, message("f"));
    expect(await historyIds(session)).toEqual(["a", "b", "f"]);
    await expectError(session.getParent("compaction_unknown"), "MESSAGE_NOT_FOUND");
    await expectError(session.getSiblings("compaction_unknown"), "MESSAGE_NOT_FOUND");
    await expectError(session.selectBranch("compaction_unknown"), "MESSAGE_NOT_FOUND");
  });

  it("appends only where the active leaf is the one that is expected", async (workspace) => {
    const { session, manager } = workspace;
    await session.appendMessage(message("root"), undefined, { expectedLeaf: null });
    await session.appendAll([message("a"), message("b")], undefined, { expectedLeaf: "root" });
    const before = await snapshot(workspace);
    for (const expectedLeaf of ["root", "a", "unknown", null]) {
      const error = await expectError(session.appendMessage(message("x"), "a", { expectedLeaf }), "LEAF_MOVED");
      expect([error.details.expectedLeaf, error.details.activeLeaf]).toEqual([expectedLeaf, "b"]);
      await expectError(session.appendAll([message("a"), message("x")], undefined, { expectedLeaf }), "LEAF_MOVED");
      await expectError(manager.append(session.id, message("x"), undefined, { expectedLeaf }), "LEAF_MOVED");
      await expectError(manager.appendAll(session.id, [message("x")], null, { expectedLeaf }), "LEAF_MOVED");
    }
    expect(await snapshot(workspace)).toEqual(before);
    await session.appendMessage(message("c"), "a", { expectedLeaf: "b" });
    expect(await historyIds(session)).toEqual(["root", "a", "c"]);
    await session.setActiveLeaf("a");
    await expectError(session.appendMessage(message("d"), undefined, { expectedLeaf: "c" }), "LEAF_MOVED");
    await session.appendMessage(message("d"), undefined, { expectedLeaf: "a" });
    expect(idsOf(await session.getBranches("a"))).toEqual(["b", "c", "d"]);
  });

  it("expects no leaf where the only message of the active path was deleted", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.appendMessage(message("r"), null);
    await session.deleteMessages(["r"]);
    await expectError(session.appendMessage(message("s"), undefined, { expectedLeaf: "b" }), "LEAF_MOVED");
    await session.appendMessage(message("s"), undefined, { expectedLeaf: null });
    expect(await historyIds(session)).toEqual(["s"]);
  });

  it("expects the leaf that a history ends with, a summary or a message", async ({ session }) => {
    await chain(session, ["a", "b"]);
    await session.addCompaction("summary", "a", "b");
    const [summary] = await historyIds(session);
    await session.appendMessage(message("c"), undefined, { expectedLeaf: summary ?? null });
    await expectError(session.appendMessage(message("d"), undefined, { expectedLeaf: summary ?? null }), "LEAF_MOVED");
    expect(await historyIds(session)).toEqual([summary, "c"]);
  });

  it("changes nothing when an append that expected a leaf is repeated", async (workspace) => {
    const { session } = workspace;
    await chain(session, ["a"]);
    const append = () => session.appendMessage(message("b"), undefined, { expectedLeaf: "a" });
    const appendAll = () => session.appendAll([message("c"), message("d")], undefined, { expectedLeaf: "b" });
    expect((await append()).inserted).toBe(true);
    expect(await appendAll()).toEqual(["c", "d"]);
    const before = await snapshot(workspace);
    const again = await append();
    expect([again.inserted, again.message]).toEqual([false, message("b")]);
    expect(await appendAll()).toEqual([]);
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("keeps the chosen leaf across a restart", ["durable"], async (workspace) => {
    await forkedTree(workspace.session);
    await workspace.session.setActiveLeaf("b");
    const { session } = await workspace.restart();
    expect((await session.getLatestLeaf())?.id).toBe("b");
    await session.appendMessage(message("f"));
    expect(await historyIds(session)).toEqual(["root", "a", "b", "f"]);
  });

  it("keeps the chosen leaf when a known message is appended again", async ({ session }) => {
    await forkedTree(session);
    await session.setActiveLeaf("b");
    await session.appendMessage(message("e"));
    expect((await session.getLatestLeaf())?.id).toBe("b");
  });

  it("empties the history, and starts a new root, when the only message of the active path is deleted", async ({
    session,
  }) => {
    await chain(session, ["a", "b"]);
    await session.appendMessage(message("r"), null);
    await session.deleteMessages(["r"]);
    expect(await session.getLatestLeaf()).toBe(null);
    expect(await historyIds(session)).toEqual([]);
    expect(await session.getPathLength()).toBe(0);
    await session.appendMessage(message("s"));
    expect(await historyIds(session)).toEqual(["s"]);
    expect(await historyIds(session, "b")).toEqual(["a", "b"]);
  });

  it("splices a deleted message out of every branch that ran through it", async ({ session }) => {
    await forkedTree(session);
    await session.appendMessage(message("f"), "root");
    await session.deleteMessages(["a"]);
    expect(await historyIds(session, "c")).toEqual(["root", "b", "c"]);
    expect(await historyIds(session, "e")).toEqual(["root", "d", "e"]);
    expect(idsOf(await session.getBranches("root"))).toEqual(["b", "d", "f"]);
    await session.deleteMessages(["root"]);
    expect(await historyIds(session, "c")).toEqual(["b", "c"]);
    expect(await historyIds(session, "f")).toEqual(["f"]);
  });

  it("deletes a whole branch and leaves its sibling alone", async ({ session }) => {
    await forkedTree(session);
    await session.deleteMessages(["d", "e"]);
    expect((await session.getLatestLeaf())?.id).toBe("a");
    expect(idsOf(await session.getBranches("a"))).toEqual(["b"]);
    await session.appendMessage(message("f"));
    expect(await historyIds(session)).toEqual(["root", "a", "f"]);
    expect(await historyIds(session, "c")).toEqual(["root", "a", "b", "c"]);
  });

  it("gives every message's place in the tree, in the order they were written", async ({ session }) => {
    await forkedTree(session);
    await session.appendMessage({ ...message("r", "new root"), createdAt: new Date(0) }, null);
    const tree = await session.getTree();
    expect(tree.map(({ id, parentId }) => [id, parentId])).toEqual([
      ["root", null],
      ["a", "root"],
      ["b", "a"],
      ["c", "b"],
      ["d", "a"],
      ["e", "d"],
      ["r", null],
    ]);
    const last = { id: "r", parentId: null, role: "user", createdAt: "1970-01-01T00:00:00.000Z", preview: "new root" };
    expect(tree.at(-1)).toEqual(last);
  });

  it("holds a hundred answers to one message, each with its own path", async ({ session }) => {
    await chain(session, ["root"]);
    const answers = numbered("answer", 100);
    for (const id of answers) await session.appendMessage(message(id), "root");
    expect(idsOf(await session.getBranches("root"))).toEqual(answers);
    for (const id of answers.filter((_, index) => index % 9 === 0)) {
      expect(await historyIds(session, id)).toEqual(["root", id]);
    }
  });

  it("reads and selects in a path that forks at each of its 200 messages", async ({ session }) => {
    const ids = numbered("m", 200);
    let parent: string | null = null;
    for (const id of ids) {
      // The path continues from the second child, so that each message begins a branch.
      await session.appendMessage(message(`${id}-aside`), parent);
      await session.appendMessage(message(id), parent);
      parent = id;
    }
    expect(await historyIds(session)).toEqual(ids);
    expect(await session.getPathLength()).toBe(200);
    const [first = "", half = "", last = ""] = [ids[0], ids[100], ids[199]];
    expect((await session.selectBranch(`${half}-aside`)).id).toBe(`${half}-aside`);
    for (const id of [half, first, last]) expect((await session.selectBranch(id)).id).toBe(last);
    expect((await session.getParent(last))?.id).toBe(ids[198]);
    expect(idsOf(await session.getSiblings(half))).toEqual([`${half}-aside`, half]);
    await session.deleteMessages(ids.filter((_, index) => index % 2 === 1));
    expect(await historyIds(session)).toEqual(ids.filter((_, index) => index % 2 === 0));
  });

  it("imports a tree with its compactions and its active leaf, and adds nothing the second time", async ({
    store,
    session,
  }) => {
    await forkedTree(session);
    await session.addCompaction("summary", "root", "b");
    const tree = await session.getTree();
    const imported = await importedTree(session, "c");
    expect(await store.session("copy").importTree(imported)).toEqual({ inserted: 6 });
    expect(await store.session("copy").importTree(imported)).toEqual({ inserted: 0 });
    expect((await store.session("copy").tree()).map(({ id, parentId }) => [id, parentId])).toEqual(
      tree.map(({ id, parentId }) => [id, parentId]),
    );
    expect(idsOf((await store.session("copy").path()).messages)).toEqual(await historyIds(session, "c"));
    expect(await store.session("copy").compactions()).toEqual(await session.getCompactions());
  });

  it("registers the session of a tree without messages", async ({ store }) => {
    expect(await store.session("copy").importTree({ messages: [] })).toEqual({ inserted: 0 });
    expect((await store.sessions.get("copy"))?.id).toBe("copy");
  });

  it(
    "refuses a tree with an unknown parent, range or leaf, and stores none of it",
    ["transactions"],
    async ({ store }) => {
      const a = encoded("a", null);
      for (const [tree, code] of [
        [{ messages: [a, encoded("b", "unknown")] }, "PARENT_NOT_FOUND"],
        [{ messages: [a], activeLeafId: "unknown" }, "MESSAGE_NOT_FOUND"],
        [
          { messages: [a], compactions: [{ id: "c", summary: "s", fromMessageId: "a", toMessageId: "unknown" }] },
          "COMPACTION_INVALID_RANGE",
        ],
      ] as const) {
        await expectError(store.session("copy").importTree(tree), code);
        expect(await store.sessions.get("copy")).toBe(null);
      }
    },
  );
});
