// One ladder: the tables of Postgres, and what comes behind them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { postgresDriver } from "../../../packages/postgres/src/drivers/client.js";
import { type PostgresSource, postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { openPostgres } from "../../../packages/postgres/src/store.js";
import type { PostgresMigration } from "../../../packages/postgres/src/tables/migration.js";
import { POSTGRES_MIGRATIONS } from "../../../packages/postgres/src/tables/migrations/index.js";
import { printSchema } from "../../../packages/postgres/src/tables/schema.js";
import * as api from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { all, first, run } from "../../../packages/store/src/engine/operation.js";
import { writeTwoSessions } from "../../fixtures/two-sessions.mjs";
import { openPool } from "../../postgres/databases.js";
import { DEFINITIONS } from "../../postgres/definitions.js";
import { describeServer } from "../../postgres/server.js";

const read = (path: string) => readFileSync(join(import.meta.dirname, "../../postgres", path), "utf8");
const DOCUMENTS = read("documents-schema.sql");
const KNOWN = POSTGRES_MIGRATIONS.length;

const { AgentSearchProvider, Session, SessionManager } = api;

/** What a coming version might do: a column, a table, a function that says something else, and rows that are made of others. */
const madeUp: PostgresMigration = {
  definitions: [
    "ALTER TABLE assistant_sessions ADD COLUMN IF NOT EXISTS messages INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE IF NOT EXISTS words (session TEXT PRIMARY KEY)",
    "DROP FUNCTION IF EXISTS assistant_path(TEXT, TEXT)",
    `CREATE FUNCTION assistant_path(p_session TEXT, p_leaf TEXT) RETURNS TABLE (key TEXT, content TEXT)
     LANGUAGE sql STABLE AS $$ SELECT NULL, '{"no":0,"leaf":null,"skills":null}' $$`,
  ],
  *rows() {
    for (const { id } of yield* all<{ id: string }>("SELECT id FROM assistant_sessions ORDER BY id")) {
      const found = yield* first<{ count: number }>(
        "SELECT count(*) AS count FROM assistant_messages WHERE session_id = ?",
        id,
      );
      yield* run("UPDATE assistant_sessions SET messages = ? WHERE id = ?", found?.count ?? 0, id);
      yield* run("INSERT INTO words (session) VALUES (?)", id);
    }
  },
};

const NEXT: readonly PostgresMigration[] = [...POSTGRES_MIGRATIONS, madeUp];

it("the tables of Postgres are made by one file for each version", () => {
  const names = readdirSync(join(import.meta.dirname, "../../../packages/postgres/src/tables/migrations")).sort();
  expect(names.filter((name) => /^\d{3}-/.test(name)).map((name) => Number(name.slice(0, 3)))).toEqual(
    POSTGRES_MIGRATIONS.map((_, index) => index + 1),
  );
});

describeServer("the tables of Postgres", (server) => {
  const definitions = async (url: string): Promise<string> => {
    const lines = (await server.query(url, DEFINITIONS)).map(({ line }) => String(line));
    return `${lines.sort().join("\n")}\n`;
  };

  it("are those of the snapshot: a change of them is a migration", async () => {
    const url = await server.createDatabase();
    await migrate(postgres(url));
    await expect(await definitions(url)).toMatchFileSnapshot("../../fixtures/schema/postgres.txt");
  });

  it("are the same where a process finds none, and another one makes them before it goes on", async () => {
    const [fresh, shared] = [await server.createDatabase(), await server.createDatabase()];
    await migrate(postgres(fresh));
    const client = new pg.Client(shared);
    await client.connect();
    let others: Promise<void> | null = null;
    const slow = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await client.query(text, values);
        if (text.includes("pg_class")) others ??= migrate(postgres(shared));
        await others;
        return { rows };
      },
    };
    await migrate(postgres(slow as unknown as PostgresSource));
    await client.end();
    expect(await definitions(shared)).toBe(await definitions(fresh));
    expect(await server.query(shared, "SELECT version FROM assistant_schema")).toEqual([{ version: KNOWN }]);
  });

  it("are found by a process that waited for them", async () => {
    const url = await server.createDatabase();
    const maker = new pg.Client(url);
    await maker.connect();
    await migrate(postgres(url, { schema: "draft" }));
    await maker.query("BEGIN");
    await maker.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", ['"made".assistant_schema']);
    const waiting = migrate(postgres(url, { schema: "made" }));
    const waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    await expect.poll(async () => (await maker.query(waits)).rowCount).toBe(1);
    // Few changes of the catalogs: of many, the other process would be told at once.
    await maker.query("ALTER SCHEMA draft RENAME TO made");
    await maker.query("COMMIT");
    await waiting;
    expect((await maker.query("SELECT version FROM made.assistant_schema")).rows).toEqual([{ version: KNOWN }]);
    await maker.end();
  });

  it("name each column of times as clients know them", () => {
    const columns = read("../fixtures/schema/postgres.txt")
      .split("\n")
      .filter((line) => /^\w+\.\w+ timestamp/.test(line));
    expect(columns.length).toBeGreaterThan(5);
    expect(columns.filter((line) => !/^\w+\.\w+_(at|until) /.test(line))).toEqual([]);
  });

  it.each([
    ["the documents", DOCUMENTS],
    ["the printed script, by hand", schemaSql()],
    ["the printed script, twice", `${schemaSql()}\n${schemaSql()}`],
  ])("are the same where they are those of %s, upgraded", async (_, sql) => {
    const [fresh, upgraded] = [await server.createDatabase(), await server.createDatabase()];
    await migrate(postgres(fresh));
    await server.query(upgraded, sql);
    await migrate(postgres(upgraded));
    expect(await definitions(upgraded)).toBe(await definitions(fresh));
  });
});

describeServer("a version that is to come, on a database of Postgres of the present one", (server) => {
  let url = "";
  const stores: Store[] = [];
  const pools: { close(): Promise<void> }[] = [];
  const openWith = (source: PostgresSource, migrations: readonly PostgresMigration[]): Store => {
    const { store } = openPostgres(postgresDriver(source), {}, undefined, migrations);
    stores.push(store);
    return store;
  };
  const pool = (at = url) => {
    const opened = openPool(at);
    pools.push(opened);
    return opened;
  };

  beforeEach(async () => {
    url = await server.createDatabase();
    await fill(url);
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    for (const opened of pools.splice(0)) await opened.close();
  });

  async function expectMadeUp(at = url): Promise<void> {
    const rows = (sql: string) => server.query(at, sql);
    expect(await rows("SELECT max(version), count(*)::int FROM assistant_schema")).toEqual([
      { max: KNOWN + 1, count: 1 },
    ]);
    expect(await rows("SELECT id, messages FROM assistant_sessions ORDER BY id")).toEqual([
      { id: "other", messages: 2 },
      { id: "words", messages: 8 },
    ]);
    expect(await rows("SELECT session FROM words ORDER BY session")).toEqual([
      { session: "other" },
      { session: "words" },
    ]);
    const store = openWith(pool(at).source, NEXT);
    // The function of the new version answers, not that of an earlier one.
    expect(await Session.create(store).forSession("words").getHistory()).toEqual([]);
    const found = await Session.create(store).forSession("words").search("deployment");
    expect(found.map(({ id }) => id).sort()).toEqual(["1", "8"]);
  }

  it("is reached, with its record", async () => {
    await openWith(pool().source, NEXT).migrate();
    await expectMadeUp();
  });

  it("is reached once by several processes that come at the same time", async () => {
    const opened = [1, 2, 3, 4].map(() => openWith(pool().source, NEXT));
    await Promise.all(opened.map((store) => store.migrate()));
    await expectMadeUp();
  });

  it.each(["nothing", "the present one"])(
    "is reached from %s where any statement fails first, and each version whole or not at all",
    async (from) => {
      if (from === "nothing") url = await server.createDatabase();
      let at = 1;
      let seen = 0;
      let failures = 0;
      const source = pool().failing(() => {
        seen += 1;
        if (seen === at) throw new Error("injected");
      });
      const watch = pool();
      const version = async () => {
        const [found] = await watch.query("SELECT to_regclass('assistant_schema') IS NOT NULL AS there");
        if (!found?.there) return 0;
        const [row] = await watch.query("SELECT max(version) AS version FROM assistant_schema");
        return Number(row?.version);
      };
      let reached = await version();
      for (; ; at += 1) {
        seen = 0;
        const failed = await openWith(source, NEXT)
          .migrate()
          .then(
            () => false,
            () => true,
          );
        if (!failed && seen < at) break;
        failures += failed ? 1 : 0;
        const now = await version();
        if (now !== reached) at = 0;
        reached = now;
        const [made] = await watch.query("SELECT to_regclass('words') IS NOT NULL AS there");
        // From nothing, the definitions of all versions are made at once.
        expect(made?.there).toBe(from === "nothing" ? reached > 0 : reached === NEXT.length);
      }
      expect(failures).toBeGreaterThan(10);
      expect(reached).toBe(NEXT.length);
      if (from !== "nothing") await expectMadeUp();
    },
  );

  it("is reached where the connection ends at any statement", async () => {
    let reached = 1;
    for (let at = 1; ; at += 1) {
      const client = new pg.Client(url);
      client.on("error", () => {});
      await client.connect();
      let seen = 0;
      const source = new Proxy(client, {
        get: (target, name) => {
          const value = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "query") return value.bind(target);
          return (...values: unknown[]) => {
            seen += 1;
            if (seen === at) destroy(client);
            return value.apply(target, values);
          };
        },
      });
      await openWith(source, NEXT)
        .migrate()
        .catch(() => {});
      if (seen < at) {
        await client.end();
        break;
      }
      const [row] = await server.query(url, "SELECT max(version) AS version FROM assistant_schema");
      if (Number(row?.version) !== reached) at = 0;
      reached = Number(row?.version);
    }
    await expectMadeUp();
  });

  it("is reached by the printed script, twice, and a role that may not change tables", async () => {
    await server.query(url, "DROP ROLE IF EXISTS follower; CREATE ROLE follower LOGIN");
    const grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO follower";
    await server.query(url, grant);
    const asFollower = url.replace("postgres@", "follower@");
    await expect(openWith(pool(asFollower).source, NEXT).migrate()).rejects.toMatchObject({
      code: "MIGRATION_REQUIRED",
    });
    const script = printSchema(null, [], NEXT);
    await server.query(url, script);
    await server.query(url, script);
    await server.query(url, grant);
    await openWith(pool(asFollower).source, NEXT).migrate();
    await expectMadeUp();
  });

  it("is asked for where a role may only read", async () => {
    await server.query(url, "DROP ROLE IF EXISTS onlooker; CREATE ROLE onlooker LOGIN");
    await server.query(url, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker");
    const store = openWith(pool(url.replace("postgres@", "onlooker@")).source, NEXT);
    await expect(store.migrate()).rejects.toMatchObject({ code: "MIGRATION_REQUIRED" });
  });

  it("is refused by a program that does not know it", async () => {
    await openWith(pool().source, NEXT).migrate();
    await expect(openWith(pool().source, POSTGRES_MIGRATIONS).migrate()).rejects.toMatchObject({
      code: "DATABASE_TOO_NEW",
    });
  });
});

describeServer("a search index of Postgres that is marked to be made anew", (server) => {
  let url = "";
  const stores: Store[] = [];
  const open = (at = url): Store => {
    const store = postgres(at);
    stores.push(store);
    return store;
  };

  beforeEach(async () => {
    url = await server.createDatabase();
    await fill(url);
    // As its terms were once.
    await server.query(
      url,
      `UPDATE assistant_fts SET terms = '{old}'; UPDATE cf_agents_search_fts SET terms = '{old}';
       UPDATE assistant_schema SET reindex_messages = 0, reindex_entries = 0`,
    );
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  async function find(store: Store, query: string): Promise<string[]> {
    const hits = await SessionManager.create(store).search(query);
    return hits.map(({ sessionId, id }) => `${sessionId} ${id}`).sort();
  }

  async function expectIndexed(store: Store): Promise<void> {
    expect(await find(store, "deploy")).toEqual(["words 1", "words 8"]);
    expect(await find(store, "sky")).toEqual(["words 2"]);
    expect(await find(store, "die")).toEqual(["other 1", "words 3"]);
    expect(await find(store, "天気 Straßenbahn दुनिया café")).toEqual(["words 4", "words 5"]);
    expect(await find(store, "Grace March")).toEqual(["words 6"]);
    const facts = new AgentSearchProvider(store).forSession("words");
    facts.init("facts");
    expect(await facts.search("deploy")).toContain("Two deployments failed.");
    expect(await facts.search("sky")).toContain("The skies are grey.");
  }

  it("is made anew once, and finds it then", async () => {
    await expectIndexed(open());
    const state =
      "SELECT max(version) AS version, max(reindex_messages) AS m, max(reindex_entries) AS e FROM assistant_schema";
    expect(await server.query(url, state)).toEqual([{ version: KNOWN, m: null, e: null }]);
    const [row] = await server.query(
      url,
      "SELECT count(*)::int AS count, count(DISTINCT (session_id, n))::int AS rows FROM assistant_fts",
    );
    expect(row).toEqual({ count: 9, rows: 9 });
  });

  it("is made anew by a role that may not change tables", async () => {
    await server.query(url, "DROP ROLE IF EXISTS indexer; CREATE ROLE indexer LOGIN");
    await server.query(url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO indexer");
    await expectIndexed(open(url.replace("postgres@", "indexer@")));
  });

  it("keeps what an owner put into its rows, a tenant's column among it", async () => {
    await server.query(
      url,
      `ALTER TABLE assistant_fts ADD COLUMN tenant TEXT; UPDATE assistant_fts SET tenant = 'acme';
       ALTER TABLE assistant_fts ALTER COLUMN tenant SET NOT NULL`,
    );
    await expectIndexed(open());
    expect(await server.query(url, "SELECT DISTINCT tenant FROM assistant_fts")).toEqual([{ tenant: "acme" }]);
  });

  it("waits for whoever writes to a session, and indexes what that wrote", async () => {
    const content = JSON.stringify({ id: "3", role: "user", parts: [{ type: "text", text: "Newly deployed." }] });
    const writer = new pg.Client(url);
    await writer.connect();
    await writer.query("BEGIN");
    await writer.query("SELECT no FROM assistant_sessions WHERE id = 'words' FOR UPDATE");
    await writer.query("UPDATE assistant_messages SET content = $1 WHERE session_id = 'words' AND id = '3'", [content]);
    const store = open();
    const migrated = store.migrate();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await writer.query("COMMIT");
    await writer.end();
    await migrated;
    expect(await find(store, "deploy")).toEqual(["words 1", "words 3", "words 8"]);
    expect(await find(store, "die")).toEqual(["other 1"]);
  });

  it("is made anew in steps that several processes share, losing and doubling nothing", async () => {
    await server.query(
      url,
      `INSERT INTO assistant_sessions (id, name, created_at, updated_at) VALUES ('many', 'many', now(), now());
       INSERT INTO assistant_messages (n, id, session_id, role, created_at, branch, tokens, content)
         SELECT s.no * 268435456 + i, 'm' || i, 'many', 'user', now(), 0, 1,
           json_build_object('id', 'm' || i, 'role', 'user', 'parts',
             json_build_array(json_build_object('type', 'text', 'text', 'deployment ' || repeat('and so on ', 100))))::text
         FROM assistant_sessions s, generate_series(1, 4000) AS i WHERE s.id = 'many'`,
    );
    const processes = [open(), open(), open()];
    await Promise.all(processes.map((store) => store.migrate()));
    const hits = await SessionManager.create(processes[0] as Store).search("deploy", { limit: 5_000 });
    expect(new Set(hits.map(({ sessionId, id }) => `${sessionId} ${id}`)).size).toBe(4_002);
    expect(await server.query(url, "SELECT count(*)::int AS count FROM assistant_fts")).toEqual([{ count: 4_009 }]);
  });
});

async function fill(url: string): Promise<void> {
  const store = postgres(url);
  await writeTwoSessions(api, store);
  await store.close();
}

async function migrate(store: Store): Promise<void> {
  await store.migrate();
  await store.close();
}

// As when the process is killed: the server is told nothing.
function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
