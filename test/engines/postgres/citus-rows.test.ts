// Rows spread by session over a cluster of Citus: the rows of a session are on one server, those of other sessions on others.
import { execFileSync } from "node:child_process";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageMessage } from "../../../packages/conformance/src/messages/fidelity.js";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import type { Connection } from "../../../packages/store/src/engine/connection.js";
import { describeStore } from "../../describe-store.js";
import { textMessage } from "../../helpers/messages.js";
import { type Cluster, describeCitus, movingRows } from "../../postgres/citus.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { postgresTarget } from "../../postgres/target.js";

/** Few shards, so that tables are made soon. */
const FEW = { "citus.shard_count": "8" };

const SESSIONS = Array.from({ length: 40 }, (_, index) => `session ${index}`);

interface Node {
  readonly nodename: string;
  readonly nodeport: number;
}

function nodesOf(cluster: Cluster): Promise<readonly Node[]> {
  const nodes = "SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid";
  return cluster.query(nodes) as Promise<unknown> as Promise<readonly Node[]>;
}

function through(url: string, { nodename, nodeport }: Node): string {
  const other = new URL(url);
  other.host = `${nodename}:${nodeport}`;
  return other.href;
}

describeCitus("rows spread by session on Citus", (cluster) => {
  const url = cluster.urlWith(FEW);
  const ids = async (store: Store, id: string) =>
    (await store.session(id).path()).messages.map((message) => message.id);
  const say = (store: Store, session: string, id: string, text = `said ${id}`) =>
    store.session(session).append([textMessage(id, text)], undefined);

  async function spread(): Promise<{ schema: string; store: Store }> {
    const schema = cluster.nextSchema();
    const store = postgres(url, { schema, citus: true });
    await store.migrate();
    return { schema, store };
  }

  it("are spread by migrate(), with what the tables held, and again by the script", async () => {
    const schema = cluster.nextSchema();
    const before = postgres(url, { schema });
    for (const id of SESSIONS) await say(before, id, "a", "green apples");
    await before.close();
    const store = postgres(url, { schema, citus: true });
    await store.migrate();
    const servers = "SELECT count(DISTINCT nodeport)::int AS servers FROM citus_shards WHERE table_name = ";
    const [spread] = await cluster.query(`${servers} '${schema}.assistant_messages'::regclass`);
    expect(spread?.servers).toBe(2);
    await cluster.runScript(schemaSql({ schema, citus: true, embeddings: true }), url);
    await store.migrate();
    await store.close();
    // It finds out by itself.
    const after = postgres(url, { schema });
    for (const id of SESSIONS) await say(after, id, "b", "red pears");
    expect(await ids(after, "session 7")).toEqual(["a", "b"]);
    expect(await after.search("apples", { limit: 100 })).toHaveLength(SESSIONS.length);
    expect((await after.sessions.list({ limit: 10 })).sessions).toHaveLength(10);
    await after.sessions.fork("session 7", "b", { id: "fork", name: "fork" });
    expect(await ids(after, "fork")).toEqual(["a", "b"]);
    await after.close();
  }, 300_000);

  const message = "'b', 'user', '{}', '', 1, NULL, 0, '', NULL";
  const called = [
    `assistant_append('one', NULL, now(), 'leaf', NULL, ${message})`,
    "assistant_append_all('one', NULL, now(), '[]')",
    `assistant_append('one', 'ada', now(), 'leaf', NULL, ${message})`,
    "assistant_append_all('one', 'ada', now(), '[]')",
    "assistant_path('one', NULL)",
    "assistant_recent('one', NULL, 0, 50)",
  ];
  const expectDelegated = async (schema: string) => {
    for (const call of called) {
      const plan = await cluster.query(`EXPLAIN (VERBOSE) SELECT * FROM ${schema}.${call}`, url);
      const lines = plan.map((row) => String(Object.values(row)[0])).join("\n");
      expect([call, lines]).toEqual([call, expect.stringContaining("Task Count: 1")]);
      expect(lines).toMatch(/Query: SELECT .*assistant_/);
    }
  };

  it("take an append, a batch and a history in one statement of the worker that has the session, of a user's as well", async () => {
    const { schema, store } = await spread();
    await say(store, "one", "a");
    await expectDelegated(schema);
    await store.close();
  });

  it("take a batch as one set, whatever of it is there, and whatever hangs elsewhere", async () => {
    const { store } = await spread();
    const session = Session.create(store).forSession("one");
    const texts = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => textMessage(`m${from + index}`, `apples of ${from + index}`));
    const first = [...texts(0, 10), imageMessage("i", 1), ...texts(10, 15)];
    await Promise.all([1, 2, 3].map(() => session.appendAll(first)));
    await session.appendAll([...texts(14, 20), ...texts(0, 1), ...texts(20, 30)]);
    const held = (from: number, to: number) => texts(from, to).map(({ id }) => id);
    expect(await ids(store, "one")).toEqual(["m0", ...held(20, 30)]);
    const other = (await session.getHistory("m19")).map(({ id }) => id);
    expect(other).toEqual([...held(0, 10), "i", ...held(10, 20)]);
    expect(await session.getMessage("i")).toEqual(imageMessage("i", 1));
    expect(await session.search("apples", { limit: 50 })).toHaveLength(30);
    expect((await store.check?.())?.problems).toEqual([]);
    await store.close();
  });

  it("are written through each server, also where a session is new", async () => {
    const { schema, store } = await spread();
    const nodes = await nodesOf(cluster);
    expect(nodes).toHaveLength(3);
    const stores = nodes.map((node) => postgres(through(url, node), { schema }));
    await Promise.all(SESSIONS.flatMap((id) => stores.map((each, index) => say(each, id, `m${index}`))));
    await Promise.all(
      SESSIONS.flatMap((id) =>
        stores.map((each, index) => say(each.forUser("ada"), `ada's ${id}`, `m${index}`, "told")),
      ),
    );
    for (const id of [...SESSIONS, ...SESSIONS.map((each) => `ada's ${each}`)]) {
      expect((await ids(store, id)).sort()).toEqual(["m0", "m1", "m2"]);
    }
    expect(await store.sessions.count()).toBe(2 * SESSIONS.length);
    for (const each of stores) {
      expect(await each.search("said", { limit: 500 })).toHaveLength(3 * SESSIONS.length);
      await each.close();
    }
    await store.close();
  });

  it("are searched once, in a transaction", async () => {
    const { store } = await spread();
    await say(store, "one", "a", "green apples");
    const ran: string[] = [];
    store.observeStatements?.(<C extends Connection>(connection: C): C => {
      if (connection.kind === "sync") return connection;
      const { query, transaction } = connection;
      return {
        ...connection,
        query: (statement: Parameters<typeof query>[0]) => {
          ran.push(statement.sql);
          return query(statement);
        },
        transaction: (...given: Parameters<typeof transaction>) => {
          ran.push("transaction");
          return transaction(...given);
        },
      };
    });
    expect(await store.search("apples", { limit: 5 })).toHaveLength(1);
    expect(await store.session("one").search("apples", { limit: 5 })).toHaveLength(1);
    expect(ran).toEqual(["transaction", "transaction"]);
    await store.close();
  });

  it("are found by meaning", async () => {
    const { schema, store } = await spread();
    await store.close();
    const embedded = postgres(url, { schema }).withEmbedder({
      ...hashingEmbedder({ dimensions: 64 }),
      minSimilarity: 0.3,
    });
    for (const id of SESSIONS) await say(embedded, id, "a", id === "session 7" ? "restaurant" : "umbrella");
    await embedded.embeddings.flush();
    expect((await embedded.search("restaurnat", { limit: 5 })).map(({ sessionId }) => sessionId)).toEqual([
      "session 7",
    ]);
    await embedded.close();
  });

  it("are mended where index rows, references to media and summaries name another session", async () => {
    const { schema, store } = await spread();
    const session = Session.create(store).forSession("one");
    // Session "two" has a first row in the index, so "one" has none.
    const said = [
      textMessage("0", "?"),
      textMessage("a", "green apples"),
      imageMessage("b", 1),
      textMessage("c", "red pears"),
    ];
    await session.appendAll(said);
    await session.addCompaction("They spoke of fruit.", "a", "b");
    await say(store, "two", "other", "blue plums");
    for (const [table, rule, other] of [
      ["fts", "index", "two"],
      ["media_refs", "media", "two"],
      ["compactions", "place", "nowhere"],
    ] as const) {
      const give = `UPDATE ${schema}.assistant_${table} SET session_id = '${other}' WHERE session_id = 'one'`;
      await cluster.runScript(`BEGIN; ${movingRows(give)}; COMMIT`, url);
      const found = await store.check?.();
      expect([table, found?.problems.some((problem) => problem.rule === rule)]).toEqual([table, true]);
      expect([table, (await store.check?.({ repair: true }))?.ok]).toEqual([table, true]);
      expect([table, (await store.check?.())?.problems]).toEqual([table, []]);
    }
    expect((await store.search("apples", { limit: 5 })).map(({ sessionId }) => sessionId)).toEqual(["one"]);
    expect((await session.getHistory()).map(({ id }) => id)).toHaveLength(3);
    expect(await session.getMessage("b")).toEqual(imageMessage("b", 1));
    await store.close();
  });

  it("are indexed anew", async () => {
    const { schema, store } = await spread();
    for (const id of SESSIONS) await say(store, id, "a", "green apples");
    for (const id of ["one", "two"])
      await store.entries.set({ sessionId: id, label: "facts" }, { key: "sky", content: "blue" });
    await store.close();
    for (const table of ["assistant_fts", "cf_agents_search_fts"])
      await cluster.query(`DELETE FROM ${schema}.${table}`, url);
    await cluster.query(`UPDATE ${schema}.assistant_schema SET reindex_messages = 0, reindex_entries = 0`, url);
    const again = postgres(url, { schema });
    await again.migrate();
    expect(await again.search("apples", { limit: 100 })).toHaveLength(SESSIONS.length);
    expect((await again.check?.())?.problems).toEqual([]);
    await again.close();
  });

  it("lose no append while a shard moves", async () => {
    const { schema, store } = await spread();
    for (const id of SESSIONS) await say(store, id, "first");
    const [shard] = await cluster.query(
      `SELECT s.shardid, s.nodename, s.nodeport FROM citus_shards s JOIN pg_dist_shard p ON p.shardid = s.shardid
       WHERE s.shardid = get_shard_id_for_distribution_column('${schema}.assistant_messages', 'session 7') LIMIT 1`,
    );
    const other = (await nodesOf(cluster)).slice(1).find(({ nodeport }) => nodeport !== shard?.nodeport) as Node;
    const orphans = () => cluster.query("SELECT object_name FROM pg_dist_cleanup");
    let isMoving = true;
    const said = new Map(SESSIONS.map((id) => [id, 1]));
    const clients = Array.from({ length: 16 }, async (_, client) => {
      const own = postgres(url, { schema });
      for (let turn = 0; isMoving; turn += 1) {
        const id = client === 0 ? "session 7" : (SESSIONS[(client + 16 * turn) % SESSIONS.length] as string);
        await say(own, id, `c${client}t${turn}`);
        said.set(id, (said.get(id) ?? 0) + 1);
      }
      await own.close();
    });
    for (const [from, to] of [
      [shard, other],
      [other, shard],
    ] as const) {
      // What the first move leaves behind is removed before the shard comes back.
      await expect
        .poll(() => cluster.query("CALL citus_cleanup_orphaned_resources()").then(() => orphans()), { timeout: 60_000 })
        .toEqual([]);
      await cluster.query(
        `SELECT citus_move_shard_placement(${shard?.shardid}, '${from?.nodename}', ${from?.nodeport}, '${to?.nodename}', ${to?.nodeport}, 'block_writes')`,
      );
    }
    isMoving = false;
    await Promise.all(clients);
    for (const [id, count] of said) expect((await store.session(id).path()).messages.length).toBe(count);
    await store.close();
  }, 300_000);

  it("do not say that nothing was written when a worker is lost while it commits", async () => {
    const { schema, store } = await spread();
    await say(store, "one", "a");
    const client = new pg.Client(url);
    await client.connect();
    const losing = postgres(
      {
        execute: async (text: string, values: unknown[] = []) => {
          if (text === "COMMIT") {
            const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE state = 'idle in transaction' AND query LIKE '%${schema}.%'`;
            for (const node of (await nodesOf(cluster)).slice(1)) await cluster.query(end, through(url, node));
          }
          return client.query(text, values);
        },
      },
      { schema },
    );
    const updated = losing.session("one").update(textMessage("a", "another"));
    await expect(updated).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    expect(await ids(store, "one")).toEqual(["a"]);
    await losing.close();
    await client.end();
    await store.close();
  });

  // Commands of a shell, which stop and start the second server.
  const [stop, start] = [process.env.STEMMA_CITUS_STOP, process.env.STEMMA_CITUS_START];
  const isControlled = stop !== undefined && start !== undefined;
  const shell = (command: string | undefined) => execFileSync("sh", ["-c", command as string], { stdio: "ignore" });

  it.skipIf(!isControlled)(
    `go on on other servers while a worker is down${isControlled ? "" : " (no STEMMA_CITUS_STOP and STEMMA_CITUS_START)"}`,
    async () => {
      const { store } = await spread();
      for (const id of SESSIONS) await say(store, id, "first");
      shell(stop);
      const results: [string, string][] = [];
      try {
        for (const id of SESSIONS) {
          const code = await say(store, id, "second").then(
            () => "stored",
            (error: { code: string }) => error.code,
          );
          results.push([id, code]);
        }
      } finally {
        shell(start);
      }
      const down = results.filter(([, code]) => code !== "stored");
      expect(new Set(down.map(([, code]) => code))).toEqual(new Set(["CONNECTION_LOST"]));
      expect(down.length).toBeGreaterThan(5);
      expect(down.length).toBeLessThan(SESSIONS.length - 5);
      for (const id of SESSIONS) {
        await say(store, id, "second");
        await say(store, id, "third");
        expect(await ids(store, id)).toEqual(["first", "second", "third"]);
      }
      expect((await store.check?.())?.problems).toEqual([]);
      await store.close();
    },
    300_000,
  );

  describe("under the conformance suite", () => {
    let database: OpenDatabase;
    beforeAll(() => {
      database = openPool(url);
    });
    afterAll(() => database?.close());
    describeStore(
      "citus-rows",
      postgresTarget("Citus, rows by session", () => database, {
        nextSchema: cluster.nextSchema,
        openStore: (source, schema, search) => postgres(source, { schema, search, citus: true }),
        damaging: movingRows,
      }),
    );
  });
});
