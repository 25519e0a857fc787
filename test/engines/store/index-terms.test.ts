import Database from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";
import * as api from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { storeOf } from "../../../packages/store/src/sql/store-of.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { writeTwoSessions } from "../../fixtures/two-sessions.mjs";
import { failingClient } from "../../store/file-target.js";

const { AgentSearchProvider, Session, SessionManager } = api;

/** A database whose index holds nothing that is found, and is marked to be made anew, as a coming version of the tables may do. */
let marked: Buffer;
beforeAll(async () => {
  const database = new Database(":memory:");
  await writeTwoSessions(api, sqlite(database));
  database.exec(`DELETE FROM assistant_fts; INSERT INTO assistant_fts (rowid, terms) SELECT n, 'old' FROM assistant_messages;
    DELETE FROM cf_agents_search_fts; INSERT INTO cf_agents_search_fts (rowid, terms) SELECT n, 'old' FROM cf_agents_search_entries;
    UPDATE assistant_schema SET indexed = 0`);
  marked = database.serialize();
});

async function find(store: Store, query: string): Promise<string[]> {
  const hits = await SessionManager.create(store).search(query);
  return hits.map(({ sessionId, id }) => `${sessionId} ${id}`).sort();
}

async function expectIndexed(store: Store): Promise<void> {
  expect(await find(store, "deploy")).toEqual(["words 1", "words 8"]);
  expect(await find(store, "sky")).toEqual(["words 2"]);
  expect(await find(store, "die")).toEqual(["other 1", "words 3"]);
  expect(await find(store, "天気 Strassenbahn दुनिया café")).toEqual(["words 4", "words 5"]);
  expect(await find(store, "Grace March")).toEqual(["words 6"]);
  const facts = new AgentSearchProvider(store).forSession("words");
  await facts.init("facts");
  expect(await facts.search("deploy")).toContain("Two deployments failed.");
  expect(await facts.search("sky")).toContain("The skies are grey.");
}

/** An agent of which only `sql` is used, each statement by itself. */
function hostOn(database: SqliteClient, more: object = {}): object {
  return {
    sql: (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = database.prepare(strings.join("?")) as Database.Statement;
      if (statement.reader) return statement.all(...values);
      statement.run(...values);
      return [];
    },
    ...more,
  };
}

describe("a search index that is marked to be made anew", () => {
  it("is made anew once, and finds it then", async () => {
    const database = new Database(marked);
    await expectIndexed(sqlite(database));
    const state = () =>
      database.prepare("SELECT indexed, reindex_messages, reindex_entries FROM assistant_schema").raw();
    expect(new Set(state().all().map(String))).toEqual(new Set(["1,,"]));
    const statements: string[] = [];
    await sqlite(failingClient(database, (statement) => statements.push(statement))).migrate();
    // Which file it is, and that nothing is to be done.
    expect(statements).toEqual([
      "PRAGMA database_list",
      "PRAGMA database_list",
      expect.stringContaining("assistant_schema"),
    ]);
  });

  it("is made anew where the database is an agent's, with transactions or without", async () => {
    await expectIndexed(storeOf(hostOn(new Database(marked))));
    const database = new Database(marked);
    const transactionSync = <T>(work: () => T): T => database.transaction(work)();
    await expectIndexed(storeOf(hostOn(database, { transactionSync })));
  });

  it("is not made where the database is opened without search, but when it is opened with it", async () => {
    const database = new Database(marked);
    await Session.create(sqlite(database, { search: false }))
      .forSession("new")
      .appendMessage({ id: "1", role: "user", parts: [{ type: "text", text: "Deploying without an index." }] });
    const store = sqlite(database);
    expect(await find(store, "deploy")).toEqual(["new 1", "words 1", "words 8"]);
  });

  it("is made anew some rows at a time, and goes on where it was cut off, losing and doubling nothing", async () => {
    const database = new Database(marked);
    fill(database, 3_000, 4_000);
    let largest = 0;
    let at = Number.POSITIVE_INFINITY;
    let seen = 0;
    let pages = 0;
    const client = failingClient(database, (statement) => {
      seen += 1;
      if (statement.startsWith("UPDATE assistant_schema SET reindex_messages = ?")) pages += 1;
      if (seen === at) throw new RangeError("injected");
    });
    const watched = measured(client, (characters) => {
      largest = Math.max(largest, characters);
    });
    // Some thousand statements write the index; every two hundredth is failed, and the rest is gone on with.
    let cuts = 0;
    for (at = 200; ; cuts += 1) {
      seen = 0;
      const failed = await sqlite(watched)
        .migrate()
        .then(
          () => false,
          () => true,
        );
      if (!failed) break;
      at = 200 + ((at * 7) % 900);
    }
    expect(cuts).toBeGreaterThan(3);
    expect(pages).toBeGreaterThan(5);
    // Twelve million characters are stored.
    expect(largest).toBeLessThan(3_000_000);
    const hits = await SessionManager.create(sqlite(database)).search("deploy", { limit: 5_000 });
    expect(hits.length).toBe(3_002);
    expect(new Set(hits.map(({ sessionId, id }) => `${sessionId} ${id}`)).size).toBe(3_002);
    expect(database.prepare("SELECT count(*) FROM assistant_fts").pluck().get()).toBe(3_009);
    database.exec("INSERT INTO assistant_fts (assistant_fts) VALUES ('integrity-check')");
  });
});

function fill(database: Database.Database, messages: number, length: number): void {
  const insert = database.prepare(
    `INSERT INTO assistant_messages (n, id, session_id, role, created_at, branch, tokens, content)
     VALUES (?, ?, 'many', 'user', '2026-01-01T00:00:00.000Z', 0, 1, ?)`,
  );
  const now = "2026-01-01T00:00:00.000Z";
  database.exec(
    `BEGIN; INSERT INTO assistant_sessions (id, registered, name, created_at, updated_at) VALUES ('many', 1, 'many', '${now}', '${now}')`,
  );
  const no = database.prepare("SELECT no FROM assistant_sessions WHERE id = 'many'").pluck().get() as number;
  const text = `deployment ${"and so on ".repeat(length / 10)}`;
  for (let seq = 1; seq <= messages; seq += 1) {
    const id = `m${seq}`;
    insert.run(no * 2 ** 28 + seq, id, JSON.stringify({ id, role: "user", parts: [{ type: "text", text }] }));
  }
  database.exec("COMMIT");
}

/** The same client, telling the characters that the rows of each statement hold. */
function measured(client: Database.Database, told: (characters: number) => void): Database.Database {
  const wrap = (statement: Database.Statement): Database.Statement =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...values: unknown[]) => {
          const result = value.apply(target, values);
          if (result === target || name === "raw" || name === "pluck") return wrap(result);
          if (Array.isArray(result)) told(JSON.stringify(result).length);
          return result;
        };
      },
    });
  return new Proxy(client, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => wrap(target.prepare(sql));
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
