import { expect } from "../assert.js";
import { collect, message } from "../samples.js";
import { fill, richManager } from "../sessions/forks.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const CANARY = "xylophone";

/** Nothing of one session shows in another, whichever way it is asked. */
export const isolation = defineTopic("isolation", (it) => {
  it("shows no text of one session in any read of another", async (workspace) => {
    const { sessionOf, store } = workspace;
    await plantCanaries(workspace);
    for (const id of NEIGHBOURS) {
      const session = sessionOf(id);
      await session.appendAll([message("own"), message("a")]);
      const leaf = await session.getHistory("a");
      const seen = [
        leaf,
        await session.getHistory(),
        await collect(session.history()),
        await session.getRecentHistory(1_000_000),
        await session.getMessage("b"),
        await session.getLatestLeaf(),
        await session.getBranches("own"),
        await session.getSiblings("own"),
        await session.getParent("a"),
        await session.getTree(),
        await session.getCompactions(),
        await store.session(id).skills(),
        await store.session(id).tokens(),
      ];
      expect(JSON.stringify(seen)).toExclude(CANARY);
    }
  });

  it("shows no text of one session in any search, block, prompt or tool of another", async (workspace) => {
    const { store } = workspace;
    await plantCanaries(workspace);
    for (const id of NEIGHBOURS) {
      const session = richManager(workspace).withExpandableSummaries().getSession(id);
      await session.appendMessage(message("own"));
      const tools = await session.tools();
      const compactions = await store.session(SOURCE).compactions();
      const seen: unknown[] = [
        await session.freezeSystemPrompt(),
        session.getContextBlocks(),
        await session.readContextBlock("memory"),
        await session.reminder(),
        // A refusal repeats what was asked for.
        (await tools.search_context?.execute({ label: "facts", query: CANARY }))?.replace(CANARY, ""),
        await tools.expand_summary?.execute({ id: compactions[0]?.id }),
        Object.values(tools).map(({ description }) => description),
      ];
      if (store.capabilities.search) {
        seen.push((await session.search(CANARY)).length, (await session.search("own canary text")).length);
        const scope = { sessionId: id, label: "facts" };
        seen.push(await store.entries.search(scope, CANARY, { limit: 100 }));
      }
      expect(JSON.stringify(seen)).toExclude(CANARY);
    }
  });

  it("changes nothing of one session by writing to another", async (workspace) => {
    const { store, manager } = workspace;
    await plantCanaries(workspace);
    const state = async () => ({
      history: (await store.session(SOURCE).path()).messages,
      tree: await store.session(SOURCE).tree(),
      compactions: await store.session(SOURCE).compactions(),
      info: await store.sessions.get(SOURCE),
      block: await store.blocks.get({ sessionId: SOURCE, kind: "block", label: "memory" }),
      entries: await store.entries.count({ sessionId: SOURCE, label: "facts" }),
      tokens: await store.session(SOURCE).tokens(),
    });
    const before = await state();
    for (const id of NEIGHBOURS) {
      const session = richManager(workspace).getSession(id);
      await fill(session);
      await session.updateMessage(message("a", "changed"));
      await session.addCompaction("summary", "a", "b");
      await session.setActiveLeaf("a");
      await session.editMessage("a", message("edited"));
      await session.selectBranch("a");
      for (const { id: summary } of await session.getCompactions()) await session.removeCompaction(summary);
      await session.deleteMessages(["a"]);
      await session.clearMessages();
      await manager.delete(id);
    }
    expect(await state()).toEqual(before);
  });

  it("keeps sessions apart whose numbers or names lie side by side", async ({ sessionOf, manager }) => {
    const ids = ["1", "10", "2", "-1", "1 ", "01"];
    for (const id of ids)
      for (const each of ["x", "y"]) await sessionOf(id).appendMessage(message(each, `${each} of ${id}`));
    for (const id of ids) await sessionOf(id).deleteMessages(["x"]);
    await manager.delete("10");
    for (const id of ids.filter((each) => each !== "10")) {
      expect(await sessionOf(id).getHistory()).toEqual([message("y", `y of ${id}`)]);
    }
    await sessionOf("10").appendMessage(message("x", "anew"));
    expect(await sessionOf("10").getHistory()).toEqual([message("x", "anew")]);
  });
});

const SOURCE = "source";
const NEIGHBOURS = ["", "other", "Source", "source ", "sourc", "source_", "%", "main"];

async function plantCanaries(workspace: Workspace): Promise<void> {
  const session = richManager(workspace).getSession(SOURCE);
  await fill(session);
  await session.appendContextBlock("memory", ` ${CANARY}`);
  const { set_context } = await session.tools();
  const metadata = { title: CANARY, description: CANARY };
  await set_context?.execute({ label: "facts", content: CANARY, metadata });
  await session.freezeSystemPrompt();
  await session.appendAll([message("c", CANARY), message("d", `more ${CANARY}`)]);
  await session.addCompaction(`summary ${CANARY}`, "c", "c");
  const skill = { label: CANARY, key: CANARY, toolCallIds: [CANARY] };
  await workspace.store.session(SOURCE).importTree({ messages: [], skills: { loaded: [skill], unloaded: [] } });
}
