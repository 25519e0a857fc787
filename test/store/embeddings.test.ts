import type { EmbeddingModelV3 } from "@ai-sdk/provider";
import type Database from "better-sqlite3";
import { load } from "sqlite-vec";
import { describe, expect, it } from "vitest";
import { memory } from "../../src/memory.js";
import { Session, SessionManager } from "../../src/session.js";
import { sqlite } from "../../src/sqlite.js";
import type { EmbeddableStore } from "../../src/storage/embeddings.js";
import { embeddable } from "../../src/storage/sql/embed-store.js";
import { sqliteDialect } from "../../src/storage/sql/sqlite-dialect.js";
import { sqliteVectors } from "../../src/storage/sql/sqlite-vectors.js";
import { openStore } from "../../src/storage/sql/store.js";
import { connectClient } from "../../src/storage/sql/sync-client.js";
import { hashingEmbedder } from "../../src/testing.js";
import { isStandIn } from "../runtimes/stand-in.js";
import { openDatabase } from "./databases.js";
import { dumpTables, failingClient } from "./file-target.js";

const say = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
const DIMENSIONS = 64;
const hashing = { ...hashingEmbedder({ dimensions: DIMENSIONS }), minSimilarity: 0.3 };

/** Words that share letters and differ. */
const words = (index: number) => ["restaurant", "umbrella", "photograph", "telescope", "harbour"][index % 5] as string;

/** A store whose memory holds `rows` vectors. */
function small(database: Database.Database, rows: number): EmbeddableStore {
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1_000_000, search: true });
  const open = openStore(connectClient(database), dialect, { transactions: true, durable: true });
  return embeddable(open, sqliteVectors, { memory: rows * DIMENSIONS * 4 });
}

describe("a store with an embedder", () => {
  it("appends with the statements of one without", async () => {
    const statements: string[] = [];
    const client = failingClient(openDatabase(), (statement) => statements.push(statement));
    const plain = sqlite(client);
    const embedded = plain.withEmbedder(hashing);
    const cost = async (session: Session, id: string) => {
      statements.length = 0;
      await session.appendMessage(say(id, `text of ${id}`));
      return [...statements];
    };
    await Session.create(embedded).appendMessage(say("first", "text"));
    await embedded.embeddings.flush();
    const without = await cost(Session.create(plain), "a");
    expect(await cost(Session.create(embedded), "b")).toEqual(without);
    expect(without.length).toBe(5);
    await embedded.close();
  });

  it("makes its tables when it is first used, and not before", async () => {
    const [database, untouched] = [openDatabase(), openDatabase()];
    const store = sqlite(database).withEmbedder(hashing);
    await Session.create(store).getHistory();
    await sqlite(untouched).migrate();
    const names = (of: Database.Database) => of.prepare("SELECT name FROM sqlite_master ORDER BY name").pluck().all();
    expect(names(database)).toEqual(names(untouched));
    await store.embeddings.backlog();
    expect(names(database)).not.toEqual(names(untouched));
    await store.close();
  });

  it("leaves no row of a deleted session in any table, whoever deletes it", async () => {
    const database = openDatabase();
    const store = sqlite(database).withEmbedder(hashing);
    const manager = SessionManager.create(store);
    await manager.append("kept", say("a", "restaurant"));
    await store.embeddings.flush();
    const before = dumpTables(database);
    for (const deleter of [manager, SessionManager.create(sqlite(database))]) {
      await manager.getSession("gone").appendAll([say("a", "restaurant"), say("b", "umbrella")]);
      await store.embeddings.flush();
      await deleter.delete("gone");
      const { sqlite_sequence: _, ...after } = dumpTables(database);
      const { sqlite_sequence: __, ...unchanged } = before;
      expect(after).toEqual(unchanged);
    }
    await store.close();
  });

  it("takes a model of the AI SDK as it is, in calls as large as the model takes", async () => {
    const calls: number[] = [];
    const model: EmbeddingModelV3 = {
      specificationVersion: "v3",
      provider: "test",
      modelId: "hashing",
      maxEmbeddingsPerCall: 10,
      supportsParallelCalls: false,
      doEmbed: async ({ values, abortSignal }) => {
        calls.push(values.length);
        const embeddings = await hashing.embed(values, { signal: abortSignal as AbortSignal });
        return { embeddings: [...embeddings], warnings: [] };
      },
    };
    for (const embedder of [
      model,
      { embed: model, minSimilarity: 0.3 },
      { embed: model, id: "mine", dimensions: 64 },
    ]) {
      const store = memory().withEmbedder(embedder);
      const session = Session.create(store);
      await session.appendAll(Array.from({ length: 25 }, (_, index) => say(`m${index}`, words(index))));
      await store.embeddings.flush();
      expect(calls).toEqual([10, 10, 5]);
      expect((await session.search("restaurnat", { limit: 1 }))[0]?.content).toBe("restaurant");
      calls.length = 0;
      await store.close();
    }
  });

  it("refuses one where there is no search", () => {
    expect(() => sqlite(":memory:", { search: false }).withEmbedder(hashing)).toThrow(
      expect.objectContaining({ code: "SEARCH_UNAVAILABLE" }),
    );
  });

  it("searches by words when the query's vector does not come", async () => {
    const errors: unknown[] = [];
    let hanging = false;
    const store = memory().withEmbedder({
      ...hashing,
      embed: (texts, options) => (hanging ? new Promise(() => {}) : hashing.embed(texts, options)),
      onError: (error) => errors.push(error),
    });
    const session = Session.create(store);
    await session.appendMessage(say("a", "restaurant"));
    await store.embeddings.flush();
    hanging = true;
    expect(await session.search("restaurant")).toHaveLength(1);
    expect(errors).toMatchObject([{ code: "EMBEDDER_FAILED" }]);
    await store.close();
  });

  it("asks the embedder once for the pages of one query", async () => {
    let calls = 0;
    const embed: typeof hashing.embed = (texts, options) => {
      calls += 1;
      return hashing.embed(texts, options);
    };
    const store = memory().withEmbedder({ ...hashing, embed });
    const session = Session.create(store);
    await session.appendAll(Array.from({ length: 50 }, (_, index) => say(`m${index}`, "restaurant")));
    await store.embeddings.flush();
    calls = 0;
    const page = await session.searchPage("restaurnat", { limit: 10 });
    await session.searchPage("restaurnat", { limit: 10, cursor: page.nextCursor });
    expect(calls).toBe(1);
    await store.close();
  });

  it("holds no process alive by itself", async () => {
    const store = memory().withEmbedder({ ...hashing, embed: async () => Promise.reject(new Error("away")) });
    await Session.create(store).appendMessage(say("a", "restaurant"));
    await expect(store.embeddings.flush()).rejects.toMatchObject({ code: "EMBEDDER_FAILED" });
    // A retry waits now.
    const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout");
    await store.close();
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout")).toEqual(timers);
  });
});

describe("more vectors than memory holds", () => {
  async function fill(store: EmbeddableStore) {
    const embedded = store.withEmbedder(hashing);
    const session = (id: string) => Session.create(embedded).forSession(id);
    await session("old").appendAll(
      Array.from({ length: 60 }, (_, index) => say(`o${index}`, `${words(index)} ${index}`)),
    );
    await embedded.embeddings.flush();
    await session("new").appendAll(
      Array.from({ length: 60 }, (_, index) => say(`n${index}`, `${words(index)} ${index}`)),
    );
    await embedded.embeddings.flush();
    const manager = SessionManager.create(embedded);
    return { embedded, session, manager };
  }

  it("are compared, in the whole store, as far as they are the newest, or among the best by words", async () => {
    const { embedded, manager, session } = await fill(small(openDatabase(), 60));
    const found = await manager.search("restaurnat", { limit: 100 });
    expect(found.length).toBe(12);
    expect(found.every(({ sessionId }) => sessionId === "new")).toBe(true);
    // Words find both; vectors put "restaurant 5" of either session first.
    const both = await manager.search("restaurant 5", { limit: 2 });
    expect(both.map(({ id }) => id).sort()).toEqual(["n5", "o5"]);
    // What comes later takes the place of the oldest.
    await session("newest").appendMessage(say("x", "restaurants"));
    await embedded.embeddings.flush();
    expect((await manager.search("restaurnat", { limit: 100 })).map(({ id }) => id)).toContain("x");
    await embedded.close();
  });

  it("are all compared in a search of one session", async () => {
    const { embedded, session } = await fill(small(openDatabase(), 60));
    expect(await session("old").search("restaurnat", { limit: 100 })).toHaveLength(12);
    await embedded.close();
  });
});

describe.skipIf(isStandIn)("sqlite-vec", () => {
  it("compares every vector in the engine, with the same result", async () => {
    const database = openDatabase();
    const embedded = small(database, 10_000).withEmbedder(hashing);
    await Session.create(embedded).appendAll(
      Array.from({ length: 200 }, (_, index) =>
        say(`m${index}`, `${words(index)} ${words(index * 3 + 1)} ${index % 7}`),
      ),
    );
    await embedded.embeddings.flush();
    load(database);
    const inEngine = small(database, 1).withEmbedder(hashing);
    for (const query of ["restaurnat", "umbrela photo", "harbour 3"]) {
      const expected = await Session.create(embedded).search(query, { limit: 100 });
      expect(expected.length).toBeGreaterThan(10);
      const found = await Session.create(inEngine).search(query, { limit: 100 });
      expect(new Set(found.map(({ id }) => id))).toEqual(new Set(expected.map(({ id }) => id)));
      expect(found[0]?.content).toBe(expected[0]?.content);
    }
    await inEngine.close();
  });
});
