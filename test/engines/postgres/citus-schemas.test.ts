// A schema per tenant in a cluster of Citus: all tables of a tenant are on one server, those of others on others.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { POSTGRES_MIGRATIONS } from "../../../packages/postgres/src/tables/migrations/index.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { SessionStore } from "../../../packages/store/src/contract/store.js";
import type { Connection } from "../../../packages/store/src/engine/connection.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";
import { textMessage } from "../../helpers/messages.js";
import { ROOT } from "../../package/manifest.js";
import { type Cluster, describeCitus } from "../../postgres/citus.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { postgresTarget } from "../../postgres/target.js";

/** What makes each new schema one that is on one server. */
const BY_SCHEMA = { "citus.enable_schema_based_sharding": "on" };

/** The SQL that the page shows for the functions of a tenant. */
const DELEGATE = /^SELECT create_distributed_function[^;]*;/m.exec(
  readFileSync(`${ROOT}docs/background/scaling.md`, "utf8"),
)?.[0] as string;

/** How many tables of a schema there are, and on how many servers they are; one that is not distributed has none. */
async function placesOf(cluster: Cluster, schema: string): Promise<{ tables: number; servers: number }> {
  const [row] = await cluster.query(
    `SELECT count(*)::int AS tables, count(DISTINCT nodeport)::int AS servers
     FROM citus_shards WHERE citus_table_type = 'schema' AND table_name::text LIKE '${schema}.%'`,
  );
  return row as { tables: number; servers: number };
}

async function expectToWork(url: string, schema: string): Promise<void> {
  const store = postgres(url, { schema });
  const manager = SessionManager.create(store);
  await manager.appendAll("one", [textMessage("a", "green apples"), textMessage("b", "red pears")]);
  await manager.append("one", textMessage("c", "blue plums"));
  await store.sessions.fork("one", "b", { id: "two", name: "two" });
  await manager.append("two", textMessage("d", "more apples"));
  expect((await manager.getHistory("one")).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect((await manager.getHistory((await manager.list())[0]?.id as string)).length).toBeGreaterThan(0);
  expect((await manager.search("apples")).length).toBe(3);
  expect((await manager.list()).length).toBe(2);
  expect((await store.check?.())?.problems).toEqual([]);
  await store.close();
}

describeCitus("a schema per tenant on Citus", (cluster) => {
  it("is spread where the cluster does so by itself, and migrates again", async () => {
    const schema = cluster.nextSchema();
    const url = cluster.urlWith(BY_SCHEMA);
    const store = postgres(url, { schema });
    await store.migrate();
    const places = await placesOf(cluster, schema);
    expect(places.servers).toBe(1);
    expect(places.tables).toBeGreaterThan(12);
    await store.migrate();
    await expectToWork(url, schema);
    await cluster.runScript(schemaSql({ schema }), url);
    await postgres(url, { schema }).migrate();
    const version = await cluster.query(`SELECT version FROM ${schema}.assistant_schema`);
    expect(version).toEqual([{ version: POSTGRES_MIGRATIONS.length }]);
  });

  it("takes an ordinary schema with what it holds, which goes on there and migrates again", async () => {
    const schema = cluster.nextSchema();
    const url = cluster.urlWith({});
    const store = postgres(url, { schema });
    await store.session("before").append([textMessage("a", "grey clouds")], undefined);
    await store.close();
    await cluster.query(`SELECT citus_schema_distribute('${schema}')`);
    expect((await placesOf(cluster, schema)).servers).toBe(1);
    const after = postgres(url, { schema });
    expect((await after.session("before").path()).messages).toHaveLength(1);
    await after.sessions.delete("before");
    await after.migrate();
    await after.close();
    await expectToWork(url, schema);
  });

  it("is on another server than another tenant's, with an append through each server", async () => {
    const url = cluster.urlWith(BY_SCHEMA);
    const tenants = [cluster.nextSchema(), cluster.nextSchema()];
    for (const schema of tenants) await postgres(url, { schema }).migrate();
    const nodes = await cluster.query("SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary'");
    for (const { nodename, nodeport } of nodes) {
      const through = new URL(url);
      through.host = `${nodename}:${nodeport}`;
      for (const schema of tenants) {
        const store = postgres(through.href, { schema });
        for (const id of ["all", `new ${nodeport}`])
          await store.session(id).append([textMessage(`m${nodeport}`, "said")], undefined);
        await store.close();
      }
    }
    const store = postgres(url, { schema: tenants[0] });
    expect((await store.session("all").path()).messages).toHaveLength(nodes.length);
    expect(await store.sessions.count()).toBe(nodes.length + 1);
    await store.close();
  });

  it("runs an append, a batch and a history on the worker where its functions are given to it", async () => {
    const schema = cluster.nextSchema();
    const url = cluster.urlWith(BY_SCHEMA);
    const store = postgres(url, { schema });
    await store.migrate();
    await cluster.query(DELEGATE.replaceAll("tenant_acme", schema));
    const session = SessionManager.create(store).forUser("ada").getSession("one");
    await session.appendAll([textMessage("a"), textMessage("b")]);
    for (const call of [
      "assistant_append('one', NULL, now(), 'leaf', NULL, 'b', 'user', '{}', '', 1, NULL, 0, '', NULL)",
      "assistant_append_all('one', 'ada', now(), '[]')",
      "assistant_path('one', NULL)",
      "assistant_recent('one', NULL, 0, 50)",
    ]) {
      const plan = await cluster.query(`EXPLAIN (VERBOSE) SELECT * FROM ${schema}.${call}`, url);
      const lines = plan.map((row) => String(Object.values(row)[0])).join("\n");
      expect(lines).toMatch(/Task Count: 1[\s\S]*Query: SELECT .*assistant_/);
    }
    await store.migrate();
    await session.appendMessage(textMessage("c"));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    await store.close();
  });

  describe.each([
    ["run where they are called", false],
    ["are given to the worker", true],
  ])("where its functions %s", (_, isDelegated) => {
    async function fill(sessions: readonly string[]): Promise<string> {
      const schema = cluster.nextSchema();
      const store = postgres(cluster.urlWith(BY_SCHEMA), { schema });
      await store.migrate();
      if (isDelegated) await cluster.query(DELEGATE.replaceAll("tenant_acme", schema));
      const said = Array.from({ length: 30 }, (_, index) => textMessage(`m${index}`, `apples of ${index}`));
      for (const id of sessions) {
        await store.session(id).append(said, undefined);
        const summary = { id: "c", summary: "Apples.", fromMessageId: "m5", toMessageId: "m24" };
        await store.session(id).addCompaction(summary);
      }
      await store.close();
      return schema;
    }

    it("shows a history and the newest messages in one state, also while others write", async () => {
      const sessions = Array.from({ length: 60 }, (_, index) => `session ${index}`);
      const schema = await fill(sessions);
      const open = () => postgres(cluster.urlWith({}), { schema });
      let current = sessions[0] as string;
      let isOver = false;
      const torn: string[] = [];
      const readAll = async (read: (session: SessionStore) => Promise<readonly { id: string }[]>) => {
        const store = open();
        while (!isOver) {
          const ids = (await read(store.session(current))).map(({ id }) => id);
          if (ids.includes("m3") !== ids.includes("m27")) torn.push(ids.join(" "));
        }
        await store.close();
      };
      const path = () => readAll(async (session) => (await session.path()).messages);
      const recent = () => readAll(async (session) => (await session.recent(1e6, { minMessages: 1 })).messages);
      const readers = [path(), path(), recent(), recent()];
      const writing = open();
      for (const id of sessions) {
        current = id;
        await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 20));
        await writing.session(id).delete(["m3", "m27"]);
      }
      isOver = true;
      await Promise.all(readers);
      await writing.close();
      expect(torn).toEqual([]);
    });

    it("ranks by how many messages there are, also where they are more than are counted", async () => {
      const schema = await fill([]);
      const said = Array.from({ length: 4000 }, (_, index) =>
        textMessage(`m${index}`, `apples of ${index} ${index % 400 === 0 ? "needle" : "hay"}`),
      );
      const scores: number[] = [];
      for (const store of [postgres(cluster.urlWith({}), { schema }), memory()]) {
        for (let start = 0; start < said.length; start += 1000) {
          await store.session("one").append(said.slice(start, start + 1000), undefined);
        }
        scores.push((await store.search("needle", { limit: 1 }))[0]?.score ?? 0);
        await store.close();
      }
      const [found = 0, exact = 0] = scores;
      expect(found / exact).toBeGreaterThan(0.9);
      expect(found / exact).toBeLessThan(1.1);
    });

    it("finds only what holds the word, also where the coordinator has had more transactions than the worker", async () => {
      const schema = await fill(["one"]);
      await cluster.query(
        "DO $$ BEGIN FOR i IN 1 .. 50000 LOOP BEGIN PERFORM pg_current_xact_id(); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$",
      );
      const writing = postgres(cluster.urlWith({}), { schema });
      const reading = postgres(cluster.urlWith({}), { schema });
      await reading.migrate();
      const ran: string[] = [];
      reading.observeStatements?.(<C extends Connection>(connection: C): C => {
        if (connection.kind === "sync") return connection;
        const { query, transaction } = connection;
        return {
          ...connection,
          query: async (statement: Parameters<typeof query>[0]) => {
            const rows = await query(statement);
            ran.push("statement");
            if (ran.length === 1) await writing.session("one").update(textMessage("m29", "Nothing"));
            return rows;
          },
          transaction: (...given: Parameters<typeof transaction>) => {
            ran.push("transaction");
            return transaction(...given);
          },
        };
      });
      for (const hit of await reading.session("one").search("apples", { limit: 20 }))
        expect(hit.content).toMatch("apples");
      expect(ran[0]).toBe(isDelegated ? "statement" : "transaction");
      await reading.close();
      await writing.close();
    });
  });

  describe("under the conformance suite", () => {
    let database: OpenDatabase;
    beforeAll(() => {
      database = openPool(cluster.urlWith(BY_SCHEMA));
    });
    afterAll(() => database?.close());
    describeStore(
      "citus-schemas",
      postgresTarget("Citus, a schema per tenant", () => database, { nextSchema: cluster.nextSchema }),
    );
  });
});
