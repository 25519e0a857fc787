// One feature: what the suite cannot ask of every store with an embedder. Its parts share embedders that are watched.
import type { EmbeddingModelV3 } from "@ai-sdk/provider";
import type Database from "better-sqlite3";
import { load } from "sqlite-vec";
import { describe, expect, it } from "vitest";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import type { EmbeddableStore } from "../../../packages/store/src/embeddings/contract.js";
import { embeddable } from "../../../packages/store/src/embeddings/embed-store.js";
import type { EmbedOptions } from "../../../packages/store/src/embeddings/indexer.js";
import { memory } from "../../../packages/store/src/memory.js";
import { openSqlStore } from "../../../packages/store/src/sql/sql-store.js";
import { connectClient } from "../../../packages/store/src/sqlite/client.js";
import { sqliteDialect } from "../../../packages/store/src/sqlite/dialect.js";
import { sqliteVectors } from "../../../packages/store/src/sqlite/sqlite-vectors.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { isStandIn } from "../../runtimes/stand-in.js";
import { openDatabase } from "../../store/databases.js";
import { dumpTables, failingClient } from "../../store/file-target.js";

const DIMENSIONS = 64;
const hashing = { ...hashingEmbedder({ dimensions: DIMENSIONS }), minSimilarity: 0.3 };

/** Words that share letters and differ. */
const words = (index: number) => ["restaurant", "umbrella", "photograph", "telescope", "harbour"][index % 5] as string;

function withOptions(client: SqliteClient, options: EmbedOptions): EmbeddableStore {
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1_000_000, search: true });
  const open = openSqlStore(connectClient(client), dialect, { transactions: true, durable: true });
  return embeddable(open, sqliteVectors, options);
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let waits = 0; waits < 400 && !(await holds()); waits += 1) await new Promise((go) => setTimeout(go, 10));
  expect(await holds()).toBe(true);
}

describe("a store with an embedder", () => {
  it("appends with the statements of one without", async () => {
    const statements: string[] = [];
    const client = failingClient(openDatabase(), (statement) => statements.push(statement));
    const plain = sqlite(client);
    const embedded = plain.withEmbedder(hashing);
    const cost = async (session: Session, id: string) => {
      statements.length = 0;
      await session.appendMessage(textMessage(id, `text of ${id}`));
      return [...statements];
    };
    await Session.create(embedded).appendMessage(textMessage("first", "text"));
    await embedded.embeddings.flush();
    const without = await cost(Session.create(plain), "a");
    expect(await cost(Session.create(embedded), "b")).toEqual(without);
    expect(without.length).toBe(6);
    await embedded.close();
  });

  // The work after an append looked at every session of the store.
  it("does for an append the same in a store of 2,000 sessions as in one of 2, and reads no table through", async () => {
    const causedIn = async (sessions: number) => {
      const database = openDatabase();
      const statements: string[] = [];
      const client = failingClient(database, (statement) => statements.push(statement));
      const runs: Promise<unknown>[] = [];
      const waitUntil = (work: Promise<unknown>) => void runs.push(work);
      const store = withOptions(client, { waitUntil }).withEmbedder(hashing);
      const manager = SessionManager.create(store);
      for (let index = 0; index < sessions; index += 1)
        await manager.append(`s${index}`, textMessage("a", words(index)));
      await store.embeddings.flush();
      await Promise.all(runs);
      statements.length = runs.length = 0;
      await manager.append("s1", textMessage("b", "umbrella"));
      await until(() => runs.length > 0);
      await Promise.all(runs);
      const caused = [...statements];
      expect(await store.embeddings.backlog()).toBe(0);
      expect(caused.some((sql) => sql.includes("INSERT INTO assistant_vectors"))).toBe(true);
      const plans = caused
        .filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql))
        .flatMap((sql) => {
          const values = Array.from(sql.matchAll(/\?/g), () => null);
          return database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
        });
      expect(plans.length).toBeGreaterThan(10);
      await store.close();
      // A table of one row, and what a statement is given as JSON, may be.
      const isScan = ({ detail }: { detail: string }) => /^SCAN (?!assistant_embedder|json_each|given)/.test(detail);
      return { caused, through: plans.filter(isScan) };
    };
    const [few, many] = [await causedIn(2), await causedIn(2000)];
    // When a session was appended to is noted once a second.
    const isDate = (sql: string) => sql.includes("SET appended_until");
    expect(many.caused.filter((sql) => !isDate(sql))).toEqual(few.caused.filter((sql) => !isDate(sql)));
    expect(many.through).toEqual([]);
  });

  it("begins by itself after whatever writes a message, in the session that it is written to", async () => {
    const store = withOptions(openDatabase(), { interval: null }).withEmbedder(hashing);
    const manager = SessionManager.create(store);
    await manager.append("first", textMessage("a", "restaurant"));
    const isDone = async () => (await store.embeddings.backlog()) === 0;
    const writes: (() => Promise<unknown>)[] = [
      () => manager.append("first", textMessage("b", "umbrella")),
      () => manager.upsert("second", textMessage("a", "umbrella")),
      () => manager.upsert("second", textMessage("a", "photograph")),
      () => manager.getSession("second").updateMessage(textMessage("a", "telescope")),
      () => manager.fork("first", "b", "fork"),
      () => manager.compactAndSplit("first", "harbour"),
      () => store.session("third").importTree({ messages: [{ message: textMessage("a", "x"), parentId: null }] }),
    ];
    await until(isDone);
    for (const write of writes) {
      await write();
      expect(await isDone()).toBe(false);
      await until(isDone);
    }
    await store.close();
  });

  it("embeds at each interval what others wrote, though it is never idle for so long", async () => {
    const database = openDatabase();
    const store = withOptions(database, { interval: 300 }).withEmbedder(hashing);
    const own = Session.create(store).forSession("own");
    await own.appendMessage(textMessage("a", "restaurant"));
    await store.embeddings.flush();
    const other = Session.create(sqlite(database)).forSession("other");
    await other.appendMessage(textMessage("a", "umbrella"));
    const isEmbedded = database
      .prepare(
        `SELECT count(*) FROM assistant_vectors v JOIN assistant_messages m ON m.n = v.n WHERE m.session_id = 'other'`,
      )
      .pluck();
    let appends = 0;
    await until(async () => {
      await own.appendMessage(textMessage(`m${++appends}`, "harbour"));
      return isEmbedded.get() === 1;
    });
    await store.close();
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
    await manager.append("kept", textMessage("a", "restaurant"));
    await store.embeddings.flush();
    const before = dumpTables(database);
    for (const deleter of [manager, SessionManager.create(sqlite(database))]) {
      await manager.getSession("gone").appendAll([textMessage("a", "restaurant"), textMessage("b", "umbrella")]);
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
      await session.appendAll(Array.from({ length: 25 }, (_, index) => textMessage(`m${index}`, words(index))));
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
    await session.appendMessage(textMessage("a", "restaurant"));
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
    await session.appendAll(Array.from({ length: 50 }, (_, index) => textMessage(`m${index}`, "restaurant")));
    await store.embeddings.flush();
    calls = 0;
    const page = await session.searchPage("restaurnat", { limit: 10 });
    await session.searchPage("restaurnat", { limit: 10, cursor: page.nextCursor });
    expect(calls).toBe(1);
    await store.close();
  });

  it("holds no process alive by itself", async () => {
    const store = memory().withEmbedder({ ...hashing, embed: async () => Promise.reject(new Error("away")) });
    await Session.create(store).appendMessage(textMessage("a", "restaurant"));
    await expect(store.embeddings.flush()).rejects.toMatchObject({ code: "EMBEDDER_FAILED" });
    // A retry waits now.
    const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout");
    await store.close();
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout")).toEqual(timers);
  });
});

describe.skipIf(isStandIn)("sqlite-vec", () => {
  it("compares every vector in the engine, with the same result", async () => {
    const database = openDatabase();
    const embedded = withOptions(database, {}).withEmbedder(hashing);
    await Session.create(embedded).appendAll(
      Array.from({ length: 200 }, (_, index) =>
        textMessage(`m${index}`, `${words(index)} ${words(index * 3 + 1)} ${index % 7}`),
      ),
    );
    await embedded.embeddings.flush();
    load(database);
    const inEngine = withOptions(database, {}).withEmbedder(hashing);
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
