// PgBouncer in transaction mode in front of the coordinator of a cluster of Citus.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { describeStore } from "../../describe-store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeCitus } from "../../postgres/citus.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { type RunningPooler, reason, SERVER_CONNECTIONS, startPooler } from "../../postgres/pgbouncer.js";
import { postgresTarget } from "../../postgres/target.js";

const CLIENTS = 20;
const TOPICS = ["order", "isolation", "records", "concurrency", "forks"];

describeCitus("a cluster of Citus behind PgBouncer in transaction mode", (cluster) => {
  describe.skipIf(reason !== null)(reason ?? "with few connections to the coordinator", () => {
    const direct = cluster.urlWith({ "citus.shard_count": "8" });
    let pooler: RunningPooler;
    let database: OpenDatabase;
    let pooled = "";
    beforeAll(async () => {
      pooler = await startPooler(direct);
      pooled = pooler.urlFor(new URL(direct).pathname.slice(1));
      database = openPool(pooled);
    });
    afterAll(async () => {
      await database?.close();
      await pooler?.stop();
    });

    it.each([
      ["spread by session", true],
      ["of a schema on one worker", false],
    ])("forms one chain of what many clients append at once, in rows %s", async (_, citus) => {
      const schema = cluster.nextSchema();
      await postgres(direct, { schema, citus }).migrate();
      if (!citus) await cluster.query(`SELECT citus_schema_distribute('${schema}')`);
      const clients = Array.from({ length: CLIENTS }, () => openPool(pooled));
      const stores = clients.map(({ source }) => postgres(source, { schema }));
      const appended = stores.map(async (store, client) => {
        const own = Array.from({ length: 10 }, (_, index) => `${client}-${index}`);
        for (const id of own) await store.session("one").append([textMessage(id, "said")], undefined);
        await store.session(`of ${client}`).append([textMessage("a"), textMessage("b")], undefined);
        return own;
      });
      const ids = (await Promise.all(appended)).flat();
      const store = stores[0] as Store;
      const history = (await store.session("one").path()).messages.map(({ id }) => id);
      expect([...history].sort()).toEqual(ids.sort());
      expect(await store.search("said", { limit: 500 })).toHaveLength(ids.length);
      expect((await store.check?.())?.problems).toEqual([]);
      const servers = await cluster.query("SHOW SERVERS", pooler.urlFor("pgbouncer"));
      expect(servers.length).toBeLessThanOrEqual(SERVER_CONNECTIONS);
      await Promise.all(stores.map((each) => each.close()));
      await Promise.all(clients.map((each) => each.close()));
    });

    describe("under the conformance suite", () => {
      describeStore(
        "citus-pooler",
        postgresTarget("Citus behind PgBouncer, rows by session", () => database, {
          nextSchema: cluster.nextSchema,
          openStore: (source, schema, search) => postgres(source, { schema, search, citus: true }),
        }),
        { topics: TOPICS },
      );
    });
  });
});
