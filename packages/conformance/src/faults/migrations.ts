import { expect } from "../assert.js";
import { chain, forkedTree, historyIds, message, snapshot } from "../samples.js";
import { fill, richManager } from "../sessions/forks.js";
import { defineTopic } from "../topic.js";

/** Making the tables, and finding them made. What a store upgrades from is for its own tests. */
export const migrations = defineTopic("migrations", (it) => {
  it("may migrate any number of times, and loses nothing", async (workspace) => {
    const { store, session } = workspace;
    await store.migrate();
    await store.migrate();
    await forkedTree(session);
    await session.addCompaction("summary", "root", "a");
    const before = await snapshot(workspace);
    await store.migrate();
    expect(await snapshot(workspace)).toEqual(before);
  });

  it("migrates once when the first calls come together", async ({ sessionOf, manager }) => {
    await Promise.all(["a", "b", "c"].map((id) => sessionOf(id).appendMessage(message("m"))));
    expect((await manager.list()).length).toBe(3);
  });

  it("migrates once when several connections come first together", ["durable"], async (workspace) => {
    const connections = [workspace, await workspace.connect(), await workspace.connect()];
    await Promise.all(connections.map(({ store }) => store.migrate()));
    await Promise.all(connections.map(({ session }, index) => session.appendMessage(message(`m${index}`))));
    expect((await historyIds(workspace.session)).sort()).toEqual(["m0", "m1", "m2"]);
  });

  it("finds everything again after it was closed and opened", ["durable"], async (workspace) => {
    await forkedTree(workspace.session);
    await workspace.session.addCompaction("summary", "root", "a");
    await workspace.session.setActiveLeaf("b");
    await fill(richManager(workspace).getSession("rich"));
    const before = await snapshot(workspace, ["main", "rich"]);
    const again = await workspace.restart();
    expect(await snapshot(again, ["main", "rich"])).toEqual(before);
    if (again.store.capabilities.search) {
      expect((await again.manager.search("canary")).map(({ sessionId }) => sessionId)).toEqual(["rich"]);
    }
    await chain(again.session, ["x"]);
    expect(await historyIds(again.session, "x")).toEqual(await historyIds(again.session));
  });
});
