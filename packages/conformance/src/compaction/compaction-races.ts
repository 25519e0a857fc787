import type { CompactFunction } from "@stemma/model";
import { estimateTokens } from "@stemma/model";
import type { Session } from "@stemma/session";
import { expect } from "../assert.js";
import { historyIds, message } from "../samples.js";
import { reasonToSkip } from "../target.js";
import { defineTopic } from "../topic.js";
import { allBut, long } from "./compact-samples.js";

/** Compactions that meet a write, or another compaction, while the model summarises. */
export const compactionRaces = defineTopic("compactions and what happens meanwhile", (it) => {
  it("stores nothing when the range was edited while the model was summarising", async ({ session, sessionOf }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.deleteMessages(["m000002"]);
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect(await session.compact()).toBe(null);
    expect(await session.getCompactions()).toEqual([]);
  });

  it("hides no edit made while the model was summarising, in 200 races", async (workspace) => {
    const { session, store, target } = workspace;
    const other = workspace.sessionOf("main");
    const isShared = reasonToSkip(target, ["durable"], store.capabilities) === null;
    const elsewhere = isShared ? (await workspace.connect()).session : other;
    let hidden = 0;
    let race = 0;
    session.onCompaction(async (messages) => {
      const result = await allBut(1)(messages, {});
      const edited = message("m000002", `m000002 ${"says something else ".repeat(12)}${race}`);
      const edit = async (by: Session) => {
        if (race % 3 === 0) await by.updateMessage(edited);
        else if (race % 3 === 1) await by.upsertMessage({ ...edited, role: race % 2 ? "user" : "assistant" });
        else {
          // Undone, and said again in other words.
          await by.deleteMessages(["m000005"]);
          await by.deleteMessages(["m000004"]);
          await by.appendAll([message("m000004", edited.parts[0]?.text), message("m000005", `end ${race}`)]);
        }
      };
      // Another connection is waited for; through one store, calls take effect in the order in which they were made.
      if (race % 2 === 0) await edit(elsewhere);
      else if (race % 3 === 2) await edit(other);
      else edit(other).catch(() => {});
      for (let ticks = race % 7; ticks > 0; ticks -= 1) await Promise.resolve();
      return result;
    });
    await session.appendAll(long(6));
    for (; race < 200; race += 1) if ((await session.compact()) !== null) hidden += 1;
    expect(hidden).toBe(0);
    expect(await session.getCompactions()).toEqual([]);
    expect((await session.getHistory()).length).toBe(6);
  });

  it("stores nothing when a skill in the range was unloaded while the model was summarising", async (workspace) => {
    const skills = { get: async () => "- guide: how to", load: async () => "the whole guide ".repeat(20) };
    const session = workspace.sessionOf("main").withContext("skills", { provider: skills });
    const { load_context, unload_context } = await session.tools();
    const options = { toolCallId: "call", messages: [] };
    const output = await load_context?.execute({ label: "skills", key: "guide" }, options);
    const input = { label: "skills", key: "guide" };
    const loaded = { type: "tool-load_context", toolCallId: "call", state: "output-available", input, output };
    await session.appendAll([...long(2), { id: "loaded", role: "assistant", parts: [loaded] }, ...long(2, "later")]);
    const compactor = workspace.sessionOf("main").onCompaction(async (messages) => {
      await unload_context?.execute(input, options);
      return allBut(1)(messages, {});
    });
    expect(await compactor.compact()).toBe(null);
    // Nothing is left to unload: what is seen now is what is stored.
    expect((await compactor.compact())?.summary).toBe("summary");
  });

  it("stores nothing when a newer compaction covers the range by then", async ({ session, sessionOf }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.addCompaction("newer", "m000001", "m000002");
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect(await session.compact()).toBe(null);
    expect((await session.getCompactions()).map(({ summary }) => summary)).toEqual(["newer"]);
  });

  it("stores the compaction when messages were appended while the model was summarising", async ({
    session,
    sessionOf,
  }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.appendMessage(message("late"));
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect((await session.compact())?.summary).toBe("summary");
    expect(await historyIds(session).then((ids) => ids.slice(1))).toEqual(["m000005", "late"]);
  });

  it("calls the model once for concurrent compactions of one session", async ({ session, sessionOf, manager }) => {
    let calls = 0;
    const compact: CompactFunction = async (messages) => {
      calls += 1;
      await Promise.resolve();
      return allBut(1)(messages, {});
    };
    session.onCompaction(compact);
    const other = sessionOf("main").onCompaction(compact);
    await session.appendAll(long(6));
    const [first, second] = await Promise.all([session.compact(), other.compact(), session.compact()]);
    expect(calls).toBe(1);
    expect(second).toEqual(first);
    expect((await manager.getCompactions("main")).length).toBe(1);
  });

  it("shares a compaction with callers that name its leaf, and not with those of another branch", async (workspace) => {
    const { session } = workspace;
    const seen: string[] = [];
    session.onCompaction(async (messages) => {
      seen.push(messages.at(-1)?.id ?? "");
      await new Promise((resolve) => setTimeout(resolve, 50));
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    await session.appendAll(long(6, "other"), null);
    const [active, named, branch] = await Promise.all([
      session.compact(),
      session.compact("other000005"),
      session.compact("m000005"),
    ]);
    expect(seen.sort()).toEqual(["m000005", "other000005"]);
    expect(named).toEqual(active);
    expect(branch?.fromMessageId).toBe("m000000");
  });

  it("stores one compaction when two connections compact at the same time", ["durable"], async (workspace) => {
    const connections = [workspace, await workspace.connect(), await workspace.connect()];
    await workspace.sessionOf("main").appendAll(long(6));
    let waiting = connections.length;
    let release = () => {};
    const together = new Promise<void>((resolve) => {
      release = resolve;
    });
    const compact: CompactFunction = async (messages) => {
      waiting -= 1;
      if (waiting === 0) release();
      await together;
      return allBut(1)(messages, {});
    };
    const results = await Promise.all(connections.map(({ session }) => session.onCompaction(compact).compact()));
    expect(results.filter((result) => result !== null).length).toBe(1);
    expect((await workspace.session.getCompactions()).length).toBe(1);
  });

  it("lets a compact function write to the session that it compacts", async ({ session }) => {
    session
      .onCompaction(async (messages) => {
        await session.appendMessage(message("note of the compactor"));
        return allBut(1)(messages, {});
      })
      .compactAfter(estimateTokens(long(3)));
    await session.appendAll(long(3));
    await session.appendMessage(message("x"));
    expect((await session.getCompactions()).length).toBe(1);
    expect((await historyIds(session)).slice(1)).toEqual(["x", "note of the compactor"]);
  });
});
