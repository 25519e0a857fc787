import type { Session } from "@stemma/session";
import { promptKey } from "@stemma/store";
import { expect } from "../assert.js";
import { chain, collect, historyIds, historyTexts, idsOf, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";
import { callsOf, play, stepsOf } from "./call-sequences.js";

const SEQUENCES = 12;
const STEPS = 14;

/** Calls on one session take effect in the order in which they are made, awaited or not. */
export const order = defineTopic("order", (it) => {
  it("keeps a message that is appended while a clear is not awaited", async ({ session }) => {
    await chain(session, ["old"]);
    session.clearMessages();
    await session.appendMessage(message("new"));
    expect(await historyIds(session)).toEqual(["new"]);
  });

  it("clears and appends in the order of the calls, by two objects and with a frozen prompt too", async (workspace) => {
    const [one, other] = twoObjects(workspace);
    await one.freezeSystemPrompt();
    await chain(one, ["old"]);
    await Promise.all([one.clearMessages(), other.appendMessage(message("new")), one.appendMessage(message("newer"))]);
    expect(await historyIds(one)).toEqual(["new", "newer"]);
    await Promise.all([other.appendMessage(message("gone")), one.clearMessages()]);
    expect(await historyIds(other)).toEqual([]);
  });

  it("shows a read what was written before it, and nothing that was written after it", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    session.updateMessage(message("a", "edited"));
    session.deleteMessages(["b"]);
    const texts = historyTexts(session);
    const known = session.appendMessage(message("c", "not stored"));
    session.updateMessage(message("c", "later"));
    session.clearMessages();
    expect(await texts).toEqual(["edited", "text of c"]);
    expect((await known).message).toEqual(message("c"));
    expect(await historyIds(session)).toEqual([]);
  });

  it("edits, selects a branch and appends in the order of the calls", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    session.editMessage("b", message("b2"));
    const siblings = session.getSiblings("b");
    const moved = session.appendMessage(message("x"), undefined, { expectedLeaf: "c" }).catch((error) => error.code);
    session.appendMessage(message("d"), undefined, { expectedLeaf: "b2" });
    const selected = session.selectBranch("b");
    session.appendMessage(message("e"));
    const parent = session.getParent("e");
    session.deleteMessages(["c"]);
    expect(idsOf(await siblings)).toEqual(["b", "b2"]);
    expect(await moved).toBe("LEAF_MOVED");
    expect((await selected).id).toBe("c");
    expect((await parent)?.id).toBe("c");
    expect(await historyIds(session)).toEqual(["a", "b", "e"]);
    expect(await historyIds(session, "d")).toEqual(["a", "b2", "d"]);
  });

  it("shows an iterator what was written before it was made, whenever it is read", async ({ session }) => {
    session.appendAll([message("a"), message("b")]);
    const history = session.history();
    await session.deleteMessages(["a"]);
    await session.appendMessage(message("c"));
    expect(idsOf(await collect(history))).toEqual(["a", "b"]);
  });

  it("gives back whole histories with their summaries in the order of the calls", async ({ session }) => {
    await chain(session, ["a", "b", "c"]);
    const history = session.addCompaction("a and b", "a", "b").then(() => session.getHistory());
    const given = await history;
    const again = session.appendAll(given);
    const late = session.appendMessage(message("d"));
    expect(await again).toEqual([]);
    await late;
    expect(await historyTexts(session)).toEqual(["a and b", "text of c", "text of d"]);
  });

  it("renders the prompt of blocks as they were written before the call", async (workspace) => {
    const [one, other] = twoObjects(workspace);
    one.replaceContextBlock("memory", "first");
    const first = other.refreshSystemPrompt();
    one.appendContextBlock("memory", " and second");
    const frozen = one.freezeSystemPrompt();
    const second = one.refreshSystemPrompt();
    one.replaceContextBlock("memory", "later");
    expect((await first).includes("first") && !(await first).includes("second")).toBe(true);
    expect(await frozen).toBe(await first);
    expect((await second).includes("first\n and second")).toBe(true);
    expect(await other.freezeSystemPrompt()).toBe(await second);
  });

  it("makes the tools of the blocks that were there before the call", async ({ session }) => {
    const before = session.tools();
    const added = session.addContext("notes", { provider: { get: async () => "", set: async () => {} } });
    expect(Object.keys(await before)).toEqual([]);
    await added;
    expect(Object.keys(await session.tools())).toEqual(["set_context"]);
  });

  it("forks, counts, deletes and reads through a manager in the order of the calls", async ({ manager }) => {
    manager.append("chat", message("a"));
    manager.append("chat", message("b"));
    const forked = manager.fork("chat", "b", "copy", { id: "copy" });
    manager.append("copy", message("c"));
    manager.addUsage("chat", 1, 2);
    const info = manager.get("chat");
    const split = manager.compactAndSplit("chat", "what was said");
    const gone = manager.delete("chat");
    manager.append("chat", message("new"));
    const ids = manager.getHistory("chat").then(idsOf);
    expect((await forked).parent_session_id).toBe("chat");
    expect((await info)?.input_tokens).toBe(1);
    expect((await split).name).toBe("chat");
    await gone;
    expect(await ids).toEqual(["new"]);
    expect(idsOf(await manager.getHistory("copy"))).toEqual(["a", "b", "c"]);
  });

  it("does the same with random calls, whether each is awaited or none is", async (workspace) => {
    const { search } = workspace.store.capabilities;
    const calls = callsOf("store", search);
    for (let seed = 1; seed <= SEQUENCES; seed += 1) {
      const steps = stepsOf(seed, STEPS);
      const results = [];
      for (const waiting of [true, false]) {
        const objects = twoObjects(workspace, `${seed} ${waiting}`);
        await chain(objects[0], ["m0", "m1", "m2"]);
        const result = await play(objects, calls, steps, waiting);
        const prompt = await workspace.store.blocks.get(promptKey(objects[0].id));
        const memory = await workspace.store.blocks.get({
          ...promptKey(objects[0].id),
          kind: "block",
          label: "memory",
        });
        results.push({ seed, result, prompt: prompt?.content, memory });
      }
      expect(results[1]).toEqual(results[0]);
    }
  });

  it("lets what the host gives it call the session, and wait", async ({ sessionOf }) => {
    let asked = 0;
    const host: { session?: Session; content: string } = { content: "" };
    const session = sessionOf("host")
      .withContext("notes", {
        provider: {
          get: async () => {
            asked += 1;
            await host.session?.getHistory();
            await host.session?.getMessage("a");
            return host.content;
          },
          set: async (content: string) => {
            await host.session?.appendMessage(message(`note ${content}`));
            host.content = content;
            if (content === "x") await host.session?.refreshSystemPrompt();
          },
        },
      })
      .withContext("memory")
      .withCachedPrompt()
      .onCompaction(async (messages) => {
        await session.appendMessage(message("while compacting"));
        await session.freezeSystemPrompt();
        const [first, last] = [messages[0]?.id as string, messages.at(-1)?.id as string];
        return { fromMessageId: first, toMessageId: last, summary: "short" };
      })
      .compactAfter(40, {
        tokenCounter: async ({ messages }) => {
          await session.getHistory();
          await session.getPathLength();
          return messages.length * 10;
        },
      });
    host.session = session;
    const heard: Promise<unknown>[] = [];
    session.subscribe((event) => {
      if (event.type === "messages" && event.change === "append") heard.push(session.getHistory());
    });
    await session.freezeSystemPrompt();
    for (const id of ["a", "b", "c", "d", "e", "f"])
      await session.appendMessage(message(id, `text of ${id} `.repeat(20)));
    await Promise.all([session.replaceContextBlock("notes", "x"), session.replaceContextBlock("notes", "y")]);
    await Promise.all([session.refreshSystemPrompt(), session.freezeSystemPrompt(), session.clearMessages()]);
    expect(await session.freezeSystemPrompt()).toInclude("y");
    await Promise.all(heard);
    expect(asked > 0).toBe(true);
  });
});

function twoObjects({ sessionOf }: Workspace, id = "two"): [Session, Session] {
  const make = () => sessionOf(id).withContext("memory").withContext("notes").withCachedPrompt();
  return [make(), make()];
}
