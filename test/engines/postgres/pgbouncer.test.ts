import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { describeStore } from "../../describe-store.js";
import { textMessage } from "../../helpers/messages.js";
import { type OpenDatabase, openPool, openPostgresJs } from "../../postgres/databases.js";
import { describePooler, SERVER_CONNECTIONS } from "../../postgres/pgbouncer.js";
import { postgresTarget } from "../../postgres/target.js";

/** What a pooler could break: transactions, their locks and order, and who makes the tables. */
const OF_POOLERS = ["order", "isolation", "records", "migrations"];
/** What sends the same statements through both clients: many at once, and calls of many statements. */
const OF_STATEMENTS = ["concurrency", "forks", "embeddings"];

/** PgBouncer before 1.21 does not know of prepared statements. */
const unprepared = (url: string) => openPostgresJs(url, { prepare: false });

describePooler("behind PgBouncer in transaction mode", (pooler) => {
  it("prepared statements that PgBouncer does not know again are given up, and no append is lost or stored twice", async () => {
    const schema = "prepared_behind_pgbouncer";
    const clients = Array.from({ length: 8 }, () => openPool(pooler.url));
    try {
      const ids = await Promise.all(
        clients.map(async ({ source }, client) => {
          const session = Session.create(postgres(source, { schema, prepare: true })).forSession("one");
          const own = Array.from({ length: 10 }, (_, n) => `${client}-${n}`);
          for (const id of own) await session.appendMessage(textMessage(id));
          return own;
        }),
      );
      const session = Session.create(postgres(pooler.url, { schema })).forSession("one");
      const history = (await session.getHistory()).map(({ id }) => id);
      expect([...history].sort()).toEqual(ids.flat().sort());
      for (const own of ids) expect(history.filter((id) => own.includes(id))).toEqual(own);
    } finally {
      await Promise.all(clients.map((client) => client.close()));
      await onEachConnection(pooler.url, "DEALLOCATE ALL");
      await pooler.server.query(pooler.server.url, `DROP SCHEMA ${schema} CASCADE`);
    }
  });

  for (const [name, open, topics] of [
    ["a pool of pg behind PgBouncer", openPool, [...OF_POOLERS, ...OF_STATEMENTS]],
    ["postgres.js behind PgBouncer", unprepared, OF_POOLERS],
  ] as const) {
    describe(name, () => {
      let database: OpenDatabase;
      beforeAll(() => {
        database = open(pooler.url);
      });
      afterAll(() => database?.close());
      describeStore(
        "pgbouncer",
        postgresTarget(name, () => database),
        { topics, concurrent: true },
      );

      describe("many clients on few connections", () => {
        const CLIENTS = 20;
        let clients: OpenDatabase[] = [];
        let stores: Store[] = [];
        let schema = "";
        beforeEach(() => {
          clients = Array.from({ length: CLIENTS }, () => open(pooler.url));
          schema = `shared_${name.toLowerCase().replace(/\W/g, "_")}`;
          stores = clients.map(({ source }) => postgres(source, { schema }));
        });
        afterEach(async () => {
          await Promise.all(stores.map((store) => store.close()));
          await Promise.all(clients.map((client) => client.close()));
          await pooler.server.query(pooler.server.url, `DROP SCHEMA ${schema} CASCADE`);
        });

        it(`form one chain of what ${CLIENTS} append at once, on ${SERVER_CONNECTIONS} connections, on tables that they make`, async () => {
          const ids = await Promise.all(
            stores.map(async (store, client) => {
              const session = Session.create(store).forSession("one");
              const own = Array.from({ length: 10 }, (_, n) => `${client}-${n}`);
              for (const id of own) await session.appendMessage(textMessage(id));
              return own;
            }),
          );
          const session = Session.create(stores[0] as Store).forSession("one");
          const history = (await session.getHistory()).map(({ id }) => id);
          expect([...history].sort()).toEqual(ids.flat().sort());
          for (const own of ids) expect(history.filter((id) => own.includes(id))).toEqual(own);
          expect(await stores[0]?.check?.()).toMatchObject({ ok: true });
          const database = new URL(pooler.url).pathname.slice(1);
          const servers = (await pooler.show("SERVERS")).filter((server) => server.database === database);
          expect(servers.length).toBeGreaterThan(1);
          expect(servers.length).toBeLessThanOrEqual(SERVER_CONNECTIONS);
        });

        it("leave no statement, lock or setting on a connection", async () => {
          await onEachConnection(pooler.url, "DEALLOCATE ALL");
          await work(clients.map(({ source }) => postgres(source, { schema, prepare: false })));
          for (const state of await onEachConnection(pooler.url, STATE)) {
            expect(state).toEqual({ prepared: "0", advisory: "0", jit: "on", messages: "notice" });
          }
        });

        it("work on connections whose settings another program changed", async () => {
          const settings = "SET search_path = pg_catalog; SET default_transaction_isolation = 'serializable'";
          await onEachConnection(pooler.url, settings);
          try {
            await work(stores);
          } finally {
            await onEachConnection(pooler.url, "RESET ALL");
          }
        });
      });
    });
  }
});

/** Each client does what there is to do, at once with the others. */
async function work(stores: readonly Store[]): Promise<void> {
  await Promise.all(
    stores.slice(0, 6).map(async (store, client) => {
      const manager = SessionManager.create(store).withContext("memory");
      const id = `session-${client}`;
      await manager.appendAll(id, [textMessage("a", `The parcel number${client} is late.`), textMessage("b")]);
      await manager.getSession(id).replaceContextBlock("memory", "Waits for a parcel.");
      await manager.fork(id, "a", "Copy", { id: `copy-${client}` });
      await manager.deleteMessages(id, ["b"]);
      expect((await manager.search(`number${client}`)).map(({ sessionId }) => sessionId).sort()).toEqual([
        `copy-${client}`,
        id,
      ]);
    }),
  );
}

const STATE = `SELECT (SELECT count(*) FROM pg_prepared_statements)::text AS prepared,
  (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())::text AS advisory,
  current_setting('jit') AS jit, current_setting('client_min_messages') AS messages`;

/** Runs SQL on every connection of the pooler: transactions that are open at once are on different ones. */
async function onEachConnection(url: string, sql: string): Promise<object[]> {
  const clients = Array.from({ length: SERVER_CONNECTIONS }, () => new pg.Client(url));
  try {
    for (const client of clients) {
      await client.connect();
      await client.query("BEGIN");
    }
    const results: object[] = [];
    for (const client of clients) results.push((await client.query(sql)).rows?.[0]);
    for (const client of clients) await client.query("COMMIT");
    return results;
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
