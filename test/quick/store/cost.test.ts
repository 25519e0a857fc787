import { describe, expect, it } from "vitest";
import { AgentSearchProvider, Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";
import { dumpTables, failingClient } from "../../store/file-target.js";

// What calls cost in statements, which no busy machine changes, and what they leave in the tables.

function counting() {
  const statements: string[] = [];
  const database = openDatabase();
  const store = sqlite(failingClient(database, (statement) => statements.push(statement)));
  const count = async (call: () => Promise<unknown>) => {
    statements.length = 0;
    await call();
    return statements.length;
  };
  return { database, store, statements, count };
}

describe("a search of some sessions", () => {
  it("runs as many statements, and looks at as many matches, however many messages of others match", async () => {
    const { store, count } = counting();
    const manager = SessionManager.create(store);
    const fill = async (from: number, to: number) => {
      for (let index = from; index < to; index += 1)
        await manager.appendAll(`other ${index}`, [textMessage("a", "fine weather"), textMessage("b", "weather")]);
    };
    const say = (id: string) => manager.append(id, textMessage("m", "the weather of this one"));
    // The others are between them.
    await say("one");
    await fill(0, 10);
    await say("two");
    await fill(10, 30);
    await say("three");
    const search = () => manager.search("fine weather", { sessionIds: ["one", "two", "three"] });
    await search();
    const few = await count(search);
    await manager.delete("three");
    await fill(30, 1_500);
    await say("three");
    await search();
    expect(await count(search)).toBe(few);
    expect((await search()).map(({ id }) => id)).toEqual(["m", "m", "m"]);
  });
});

describe("context blocks", () => {
  const configured = (store: ReturnType<typeof counting>["store"], count: number) => {
    const session = Session.create(store).forSession("s");
    for (let index = 0; index < count; index += 1) session.withContext(`block ${index}`);
    return session;
  };

  it("are read a hundred with a statement at first use, where they are many", async () => {
    const { store, count } = counting();
    await store.migrate();
    const few = await count(() => configured(store, 10).refreshSystemPrompt());
    expect(few).toBeLessThan(20);
    const read = (session: Session) => () => session.refreshSystemPrompt();
    expect(await count(read(configured(store, 1_000)))).toBeLessThan(25);
    expect(await count(() => configured(store, 1_000).tools())).toBeLessThan(25);
    await configured(store, 1_000).freezeSystemPrompt();
    const estimated = configured(store, 1_000).compactAfter(1_000_000);
    expect(await count(() => estimated.appendMessage(textMessage("a", "hello")))).toBeLessThan(60);
  });
});

describe("a search of entries", () => {
  it("scores those of its scope only, where thousands of others match", async () => {
    const { store, statements } = counting();
    const entriesOf = (user: string) =>
      new AgentSearchProvider(store.forUser(user), { scope: "user", label: "facts" }).forUser(user);
    const ada = entriesOf("ada");
    await ada.set("tea", "The tea of ada is green tea.");
    await ada.set("cup", "The tea stands in a cup that is large, and blue, and old.");
    await ada.set("hat", "A hat.");
    const found = async (query: string) => {
      statements.length = 0;
      const text = await ada.search(query);
      return {
        keys: ["tea", "cup", "hat"].filter((key) => text?.includes(`[${key}]`)),
        scoresAll: statements.some((statement) => statement.includes("bm25(")),
      };
    };
    const before = await found("tea");
    expect(before.scoresAll).toBe(true);
    // As many others as the index of a store of many users has.
    const texts = Array.from({ length: 6_000 }, (_, index) => `tea of nobody ${index}`);
    const bob = entriesOf("bob");
    for (const [index, text] of texts.entries()) await bob.set(`k${index}`, text);
    expect(await found("tea")).toEqual({ ...before, scoresAll: false });
    expect(await found("large tea")).toEqual({ keys: ["tea", "cup"], scoresAll: false });
    expect(await found('"green tea"')).toMatchObject({ keys: ["tea", "cup"] });
    expect(await found("hat")).toMatchObject({ keys: ["hat"] });
    expect(await found("coffee")).toMatchObject({ keys: [] });
  });
});

describe("a plain append", () => {
  it("runs six statements, whatever the length of the history", async () => {
    const { store, count } = counting();
    const session = Session.create(store);
    await session.appendMessage(textMessage("first"));
    expect(await count(() => session.appendMessage(textMessage("short")))).toBe(6);
    await session.appendAll(Array.from({ length: 500 }, (_, index) => textMessage(`m${index}`)));
    expect(await count(() => session.appendMessage(textMessage("long")))).toBe(6);
  });

  it("writes a message, and that it is to be indexed, and nothing else", async () => {
    const { store, statements, count } = counting();
    const session = Session.create(store);
    await session.appendMessage(textMessage("first"));
    await count(() => session.appendMessage(textMessage("second")));
    const writes = statements.filter((statement) => !/^\s*(?:SELECT|WITH|BEGIN|COMMIT)/.test(statement));
    expect(writes.map((statement) => /INTO (\w+)/.exec(statement)?.[1])).toEqual([
      "assistant_messages",
      "assistant_unindexed",
    ]);
  });

  it("of a user runs one statement more, which looks at whose the session is", async () => {
    const { store, statements, count } = counting();
    const session = Session.create(store).forUser("ada").withContext("memory", { scope: "user" });
    await session.appendMessage(textMessage("first"));
    expect(await count(() => session.appendMessage(textMessage("second")))).toBe(7);
    const asked = statements.filter((statement) => /SELECT user_id/.test(statement));
    expect(asked.length).toBe(1);
  });

  it("decides whether to compact without a statement of its own", async () => {
    const { store, count } = counting();
    const session = Session.create(store)
      .onCompaction(async () => null)
      .compactAfter(1_000_000);
    await session.appendAll(Array.from({ length: 100 }, (_, index) => textMessage(`m${index}`)));
    expect(await count(() => session.appendMessage(textMessage("one more")))).toBe(6);
  });

  it("asks for no cached prompt while none is frozen, and reads no block again", async () => {
    const { store, count } = counting();
    const session = Session.create(store)
      .withContext("memory")
      .withCachedPrompt()
      .onCompaction(async () => null)
      .compactAfter(1_000_000);
    await session.appendMessage(textMessage("first"));
    expect(await count(() => session.appendMessage(textMessage("second")))).toBe(6);
  });

  it("measures the history once after a compaction, and not again", async () => {
    const { store, count } = counting();
    const session = Session.create(store)
      .onCompaction(async () => null)
      .compactAfter(1_000_000);
    await session.appendAll(Array.from({ length: 100 }, (_, index) => textMessage(`m${index}`)));
    await session.addCompaction("summary", "m0", "m50");
    await session.appendMessage(textMessage("measured"));
    expect(await count(() => session.appendMessage(textMessage("not measured")))).toBe(6);
  });
});

describe("a screen of a tree", () => {
  it("costs the same whatever the length of the history", async () => {
    const costs: number[][] = [];
    for (const length of [10, 1000]) {
      const { store, count } = counting();
      const session = Session.create(store);
      await session.appendAll(Array.from({ length }, (_, index) => textMessage(`m${index}`)));
      await session.editMessage("m5", textMessage("edited"));
      const { id } = await session.addCompaction("summary", "m0", "m4");
      costs.push([
        await count(() => session.getParent("m5")),
        await count(() => session.getSiblings("m5")),
        await count(() => session.selectBranch("m5")),
        await count(() => session.selectBranch("edited")),
        await count(() => session.appendMessage(textMessage("next"), undefined, { expectedLeaf: "edited" })),
        await count(() => session.removeCompaction(id)),
      ]);
    }
    expect(costs[1]).toEqual(costs[0]);
    expect(Math.max(...(costs[0] as number[]))).toBeLessThanOrEqual(10);
  });
});

describe("the ids of siblings", () => {
  it("are read by as many statements, whatever the number of messages and of siblings, and without contents", async () => {
    const costs: number[] = [];
    for (const length of [2, 100]) {
      const { store, statements, count } = counting();
      const session = Session.create(store);
      const ids = Array.from({ length }, (_, index) => `m${index}`);
      await session.appendAll(ids.map((id) => textMessage(id)));
      for (const id of ids) await session.editMessage("m1", textMessage(`edit of ${id}`));
      let siblings: Record<string, string[]> = {};
      const read = async () => {
        siblings = await session.getSiblingIds(ids);
      };
      costs.push(await count(read));
      expect(siblings.m1?.length).toBe(length + 1);
      expect(siblings.m0).toEqual(["m0"]);
      expect(statements.filter((statement) => statement.includes("content"))).toEqual([]);
      costs.push(await count(() => session.getBranchIds("m0")));
    }
    expect(costs.slice(2)).toEqual(costs.slice(0, 2));
  });
});

describe("an upsert of a known id", () => {
  it("takes one transaction, also where the history may have to be compacted", async () => {
    for (const automatic of [false, true]) {
      const { store, statements, count } = counting();
      const session = Session.create(store).onCompaction(async () => null);
      if (automatic) session.compactAfter(1_000_000);
      await session.appendAll(Array.from({ length: 20 }, (_, index) => textMessage(`m${index}`)));
      expect(await count(() => session.upsertMessage({ ...textMessage("m19"), role: "assistant" }))).toBe(9);
      expect(statements.filter((statement) => statement.startsWith("BEGIN")).length).toBe(1);
      for (const change of [{ role: "assistant" }, { parts: [{ type: "text", text: "far longer than it was" }] }]) {
        await count(() => session.upsertMessage({ ...textMessage("m5"), ...change }));
        expect(statements.filter((statement) => statement.startsWith("BEGIN")).length).toBe(1);
      }
      // What is appended next is measured with it, and so is an older leaf that was chosen.
      await count(() => session.appendMessage(textMessage("next")));
      expect(statements.filter((statement) => statement.startsWith("BEGIN")).length).toBe(1);
      await session.setActiveLeaf("m10");
      await count(() => session.upsertMessage({ ...textMessage("m5"), role: "assistant" }));
      expect(statements.filter((statement) => statement.startsWith("BEGIN")).length).toBe(1);
    }
  });
});

describe("what belongs to a user", () => {
  it("is found by indexes: sessions, blocks and entries", async () => {
    const { store, database } = counting();
    await store.migrate();
    for (const query of [
      "SELECT no FROM assistant_sessions WHERE user_id = 'ada'",
      "SELECT label FROM cf_agents_context_blocks WHERE session_id = 'stemma:user:ada'",
      "SELECT n FROM cf_agents_search_entries WHERE session_id = 'stemma:user:ada'",
    ]) {
      const [step] = database.prepare(`EXPLAIN QUERY PLAN ${query}`).all() as { detail: string }[];
      expect(step?.detail).toMatch(/^SEARCH .* USING .*INDEX/);
    }
  });
});

describe("a deleted session", () => {
  it("leaves no row in any table", async () => {
    const { store, database } = counting();
    const manager = SessionManager.create(store).withContext("memory").withCachedPrompt();
    await manager.append("kept", textMessage("a"));
    // Indexes it, as the image will.
    await manager.search("text");
    const before = dumpTables(database);
    const session = manager.getSession("gone");
    const url = `data:image/png;base64,${"A".repeat(10_000)}`;
    await session.appendAll([
      textMessage("a"),
      { id: "image", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] },
    ]);
    await session.appendAll([textMessage("b"), textMessage("c")], "a");
    await session.addCompaction("summary", "a", "b");
    await session.replaceContextBlock("memory", "coffee");
    await session.freezeSystemPrompt();
    await store.entries.set({ sessionId: "gone", label: "facts" }, { key: "sky", content: "blue" });
    await manager.delete("gone");
    const { sqlite_sequence: _, ...after } = dumpTables(database);
    const { sqlite_sequence: __, ...unchanged } = before;
    expect(after).toEqual(unchanged);
  });
});

describe("an agent that can broadcast", () => {
  it("is told the status of its session as JSON", async () => {
    const database = openDatabase();
    const told: unknown[] = [];
    const agent = {
      sql: (strings: TemplateStringsArray, ...values: unknown[]) => {
        const statement = database.prepare(strings.join("?"));
        if (statement.reader) return statement.all(...values);
        statement.run(...values);
        return [];
      },
      broadcast: (json: string) => {
        told.push(JSON.parse(json));
      },
    };
    const session = Session.create(agent)
      .onCompaction(async (messages) => {
        if (messages.length > 3) throw new RangeError("the model is away");
        return { fromMessageId: "a", toMessageId: "b", summary: "s" };
      })
      .compactAfter(15);
    await session.appendMessage(textMessage("a"));
    const idle = { type: "cf_agent_session", phase: "idle", tokenThreshold: 15 };
    expect(told).toEqual([{ ...idle, tokenEstimate: 8 }]);
    told.length = 0;
    await session.appendMessage(textMessage("b"));
    expect(told).toEqual([
      { ...idle, tokenEstimate: 16 },
      { ...idle, phase: "compacting", tokenEstimate: 16 },
      { ...idle, tokenEstimate: 6, compacted: { tokensBefore: 16 } },
    ]);
    await session.appendAll([textMessage("c"), textMessage("d"), textMessage("e")]);
    expect(told.at(-1)).toEqual({ type: "cf_agent_session_error", error: "the model is away" });
    told.length = 0;
    await session.deleteMessages(["e"]);
    await session.updateMessage(textMessage("d"));
    await session.clearMessages();
    expect(told).toEqual([
      { ...idle, tokenEstimate: 22 },
      { ...idle, tokenEstimate: 22 },
      { ...idle, tokenEstimate: 0 },
    ]);
    told.length = 0;
    await Session.create(agent).forSession("without a threshold").appendMessage(textMessage("a"));
    expect(told).toEqual([{ ...idle, tokenEstimate: 8, tokenThreshold: null }]);
  });
});

describe("a flush of an embedder", () => {
  it("writes 25 vectors with a statement, and deletes only those that are made anew", async () => {
    const { store, statements, count } = counting();
    const session = Session.create(store);
    const embedder = { ...hashingEmbedder({ dimensions: 16 }), batchSize: 500 };
    await session.appendAll(Array.from({ length: 110 }, (_, index) => textMessage(`m${index}`)));
    const flush = async (id: string) => {
      const embedded = store.withEmbedder({ ...embedder, id });
      await count(() => embedded.embeddings.flush());
      expect(await embedded.embeddings.backlog()).toBe(0);
      const startsWith = (start: string) => statements.filter((sql) => sql.startsWith(start)).length;
      return [startsWith("INSERT INTO assistant_vectors"), startsWith("DELETE FROM assistant_vectors")];
    };
    expect(await flush("first")).toEqual([5, 0]);
    expect(await flush("second")).toEqual([5, 5]);
  });
});

describe("an entry beside none", () => {
  it("is written, erased and expires without a look at the others", async () => {
    const { store, statements, count } = counting();
    const team = { sessionId: "", scope: { key: "team" } } as const;
    const scope = { ...team, label: "facts" };
    await store.entries.set(scope, { key: "a", content: "Likes tea." });
    const looks = async (call: () => Promise<unknown>) => {
      await count(call);
      return statements.filter((statement) => /replace\((e\.)?fact/.test(statement));
    };
    const entry = { key: "b", content: "Likes figs.", expiresAt: "2020-01-01" };
    expect(await looks(() => store.entries.set(scope, entry))).toEqual([]);
    expect(await looks(() => store.pruneExpired(team, { limit: 10 }))).toEqual([]);
    expect(await looks(() => store.entries.delete(scope, "a", { keepVersions: 0 }))).toEqual([]);
    expect(await store.entries.list(scope, { includeEnded: true, includeExpired: true })).toEqual([]);
  });
});
