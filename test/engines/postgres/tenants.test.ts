import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectError } from "../../../packages/conformance/src/assert.js";
import { type PostgresSource, postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { TABLES } from "../../../packages/postgres/src/tables/names.js";
import { AgentSearchProvider, type Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder, type StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { describeStore } from "../../describe-store.js";
import { textMessage } from "../../helpers/messages.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { Places } from "../../postgres/places.js";
import { POLICIES } from "../../postgres/policies.js";
import { describeOwnServer, type RunningServer } from "../../postgres/server.js";

/** Topics that reach every table: a policy of each lets a tenant write there. */
const OF_TABLES = [
  "messages",
  "branches",
  "isolation",
  "embeddings",
  "records",
  "compaction",
  "search",
  "sessions",
  "retaining",
  "usage",
  "check",
  "versions",
  "learned facts",
  "blocks of users and keys",
];

const TENANT_TABLES = TABLES.filter((name) => name !== "assistant_schema");

/** A database with the policies, and the URLs of tenants in it. */
async function createTenants(server: RunningServer) {
  const url = await server.createDatabase();
  await server.query(url, "DROP ROLE IF EXISTS app; CREATE ROLE app LOGIN");
  const owner = postgres(url);
  await owner.withEmbedder(hashingEmbedder()).embeddings.backlog();
  await owner.close();
  await server.query(url, POLICIES);
  const asApp = url.replace("postgres@", "app@");
  return { url, asApp, urlOf: (tenant: string) => `${asApp}?options=-c%20app.tenant%3D${tenant}` };
}

describeOwnServer("row-level security", (server) => {
  let tenants: Awaited<ReturnType<typeof createTenants>>;
  beforeAll(async () => {
    tenants = await createTenants(server);
  });

  describe("under the conformance suite", () => {
    /** A tenant, and the pool whose connections are theirs. */
    interface Tenant {
      readonly name: string;
      readonly pool: OpenDatabase;
    }
    const pools: OpenDatabase[] = [];
    const openTenant = (): Tenant => {
      const name = `t${pools.length}`;
      const pool = openPool(tenants.urlOf(name));
      pools.push(pool);
      return { name, pool };
    };
    const remove = async ({ name }: Tenant) => {
      const all = TENANT_TABLES.map((table) => `DELETE FROM ${table} WHERE tenant = '${name}';`);
      await owner.query(`DO $$ BEGIN ${all.join(" ")} END $$`);
    };
    const places = new Places(openTenant, remove);
    let owner: OpenDatabase;
    beforeAll(() => {
      owner = openPool(tenants.url);
    });
    afterAll(async () => {
      for (const pool of [owner, ...pools]) await pool?.close();
    });

    const open = (source: PostgresSource, tenant: Tenant, prepare = true) =>
      places.hold(postgres(source, { prepare }), tenant);
    const target: StoreTarget = {
      name: "Postgres with row-level security",
      open: async () => {
        const tenant = await places.take();
        return open(tenant.pool.source, tenant);
      },
      reopen: (store) => open(places.of(store).pool.source, places.of(store)),
      corrupt: async (store, sessionId, messageId) => {
        await owner.query(
          `UPDATE assistant_messages SET content = left(content, 10)
           WHERE tenant = '${places.of(store).name}' AND session_id = '${sessionId}' AND id = '${messageId}'`,
        );
      },
      openWithFaults: async (before) => {
        const tenant = await places.take();
        return open(tenant.pool.failing(before), tenant, false);
      },
      dump: async (store) => {
        const all = TENANT_TABLES.map(
          (name) =>
            `SELECT '${name}' AS name, to_jsonb(t)::text AS row FROM ${name} t WHERE tenant = '${places.of(store).name}'`,
        );
        return owner.query(`${all.join(" UNION ALL ")} ORDER BY 1, 2`);
      },
    };
    describeStore("tenants", target, { differsIn: OF_TABLES });
  });

  describe("between two tenants of one database", () => {
    const CANARY = "xylophone";
    let acme: Store;
    let globex: Store;
    let nobody: Store;

    beforeAll(async () => {
      acme = postgres(tenants.urlOf("acme"));
      globex = postgres(tenants.urlOf("globex"));
      nobody = postgres(tenants.asApp);
      const session = richSession(acme);
      const image = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(4000)}` };
      await session.appendMessage({ id: "a", role: "user", parts: [{ type: "text", text: CANARY }, image] });
      await session.appendAll([textMessage("b", CANARY), textMessage("c", CANARY)]);
      await session.appendMessage(textMessage("d", CANARY), "a");
      await session.addCompaction(`about the ${CANARY}`, "a", "a");
      await session.replaceContextBlock("memory", CANARY);
      const { set_context } = await session.tools();
      await set_context?.execute({ label: "facts", content: CANARY, metadata: { title: CANARY } });
      await session.freezeSystemPrompt();
      await acme.records.set({ sessionId: "main", label: "runs" }, CANARY, new TextEncoder().encode(CANARY));
      await acme.sessions.addUsage("main", 1, 1, 0, CANARY);
      await SessionManager.create(acme).create(CANARY, { id: "main" });
    });

    afterAll(async () => {
      for (const store of [acme, globex, nobody]) await store?.close();
    });

    it.each([
      ["another tenant", () => globex],
      ["a connection of no tenant", () => nobody],
    ])("%s finds nothing, whatever id and whichever call it tries", async (_who, storeOf) => {
      const store = storeOf();
      const session = richSession(store);
      const manager = SessionManager.create(store);
      expect(await session.getHistory()).toEqual([]);
      expect(await session.getMessage("a")).toBeNull();
      await expectError(session.getHistory("a"), "MESSAGE_NOT_FOUND");
      expect(await session.search(CANARY)).toEqual([]);
      expect(await manager.search(CANARY)).toEqual([]);
      expect(await manager.list()).toEqual([]);
      expect(await manager.get("main")).toBeNull();
      expect(await session.getCompactions()).toEqual([]);
      expect(await store.sessions.count()).toBe(0);
      expect(await store.blocks.get({ sessionId: "main", kind: "prompt", label: "" })).toBeNull();
      expect(await store.entries.count({ sessionId: "main", label: "facts" })).toBe(0);
      expect(await store.records.list({ sessionId: "main", label: "runs" })).toEqual([]);
      const { search_context } = await session.tools();
      expect(await search_context?.execute({ label: "facts", query: "something" })).not.toContain(CANARY);
      await expectError(manager.fork("main", "a", "stolen"), "SESSION_NOT_FOUND");
    });

    it("another tenant sees no row of any table in SQL of its own, and changes none", async () => {
      const client = new pg.Client(tenants.urlOf("globex"));
      await client.connect();
      for (const table of TENANT_TABLES) {
        expect((await client.query(`SELECT * FROM ${table} WHERE tenant <> 'globex'`)).rows).toEqual([]);
        expect((await client.query(`UPDATE ${table} SET tenant = 'globex' WHERE tenant = 'acme'`)).rowCount).toBe(0);
        expect((await client.query(`DELETE FROM ${table} WHERE tenant = 'acme'`)).rowCount).toBe(0);
      }
      const [counts] = await server.query(
        tenants.url,
        `SELECT ${TENANT_TABLES.map((name) => `(SELECT count(*)::int FROM ${name} WHERE tenant = 'acme') AS ${name}`).join()}`,
      );
      expect(Object.values(counts as object)).not.toContain(0);
      await expect(
        client.query(
          "INSERT INTO assistant_sessions (id, name, created_at, updated_at, tenant) VALUES ('x', 'x', now(), now(), 'acme')",
        ),
      ).rejects.toThrow(/row-level security/);
      await expect(client.query("SET row_security = off; SELECT * FROM assistant_messages")).rejects.toThrow(
        /row-level security/,
      );
      await expect(client.query("UPDATE assistant_schema SET version = 99")).rejects.toThrow(/permission denied/);
      await client.end();
    });

    it("the same ids are each tenant's own", async () => {
      const session = richSession(globex);
      await session.appendMessage(textMessage("a", "a trombone"));
      await session.replaceContextBlock("memory", "Likes brass.");
      expect((await session.getHistory()).map(({ parts }) => parts[0]?.text)).toEqual(["a trombone"]);
      await SessionManager.create(globex).delete("main");
      expect((await richSession(acme).getHistory("c")).map(({ id }) => id).slice(1)).toEqual(["b", "c"]);
      expect(await richSession(acme).search(CANARY)).toHaveLength(4);
    });

    it("a connection of no tenant writes nothing, and is told why", async () => {
      const session = richSession(nobody);
      await expect(session.appendMessage(textMessage("z", "text"))).rejects.toMatchObject({
        code: "STORE_FAILED",
        message: expect.stringContaining("row-level security"),
      });
      await expect(session.replaceContextBlock("memory", "text")).rejects.toThrow(/row-level security/);
    });

    it("the owner's script that creates the tables may still be run again", async () => {
      await server.query(tenants.url, schemaSql());
      expect(await richSession(acme).search(CANARY)).toHaveLength(4);
    });
  });

  function richSession(store: Store): Session {
    return SessionManager.create(store)
      .withContext("memory")
      .withContext("facts", { provider: new AgentSearchProvider(store) })
      .withCachedPrompt()
      .getSession("main");
  }
});
