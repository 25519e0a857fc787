import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTenants } from "../../../packages/cli/src/serve/open-tenants.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { ApiKeys, authenticator, createServer, Tenants } from "../../../packages/server/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeServer } from "../../postgres/server.js";

const CANARY = "canary-of-bravo";
/** A search marks what it found: «canary»-of-bravo. */
const LEAK = "of-bravo";
const said = (id: string, text: string) => ({ id, role: "user" as const, parts: [{ type: "text" as const, text }] });

describeServer("tenants in schemas of Postgres", (server) => {
  let pool: pg.Pool;
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: server.url, max: 4 });
  });
  afterAll(() => pool.end());

  const schemasLike = async (pattern: string) => {
    const rows = await server.query(
      server.url,
      `SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE '${pattern}' ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };

  it("shows one nothing of another, and makes a schema for each", async () => {
    const tenants = new Tenants((tenant) => postgres(pool, { schema: `one_${tenant}`, prepare: false }));
    const control = memory();
    const keys = new ApiKeys(control);
    const app = createServer(control, { authenticate: authenticator({ keys }), tenants });
    const ask = async (tenant: string, method: string, path: string, json?: unknown) => {
      const { key } = await keys.create({ name: "k", access: "admin", tenant });
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      const response = await app(new Request(`https://memory.example.com${path}`, { method, headers, ...body }));
      return { status: response.status, text: await response.text() };
    };
    const messages = { messages: [said("m1", CANARY)] };
    // Both are new, and many come at once.
    const first = await Promise.all(
      ["alpha", "bravo"].flatMap((tenant) =>
        Array.from({ length: 8 }, (_, n) => ask(tenant, "POST", "/v1/sessions", { id: `s${n}`, name: tenant })),
      ),
    );
    expect(first.filter(({ status }) => status !== 201)).toEqual([]);
    expect((await ask("bravo", "POST", "/v1/sessions/chat/messages", messages)).status).toBe(200);
    for (const [method, path, json] of [
      ["GET", "/v1/sessions/chat/messages"],
      ["GET", "/v1/sessions"],
      ["POST", "/v1/search", { query: "canary" }],
      ["GET", "/v1/sessions/chat/tree"],
    ] as const) {
      expect((await ask("alpha", method, path, json)).text).not.toContain(LEAK);
    }
    expect((await ask("bravo", "POST", "/v1/search", { query: "canary" })).text).toContain(LEAK);
    expect(await schemasLike("one_%")).toEqual(["one_alpha", "one_bravo"]);
    // To erase one is to drop its schema.
    await server.query(server.url, "DROP SCHEMA one_bravo CASCADE");
    expect((await ask("alpha", "GET", "/v1/sessions/s1")).status).toBe(200);
    await tenants.close();
  });

  it("opens 12 tenants of stemma serve on one pool, 3 at once", async () => {
    const { tenants, close } = openTenants({ tenants: server.url, maxTenants: 3 }, {}, (store) => store);
    const names = [...Array.from({ length: 11 }, (_, n) => `t${n}`), "a-".repeat(24)];
    const work = async (name: string) => {
      const { store, release } = await tenants.hold(name);
      try {
        await store.session("chat").append([said("m", name)]);
        return store;
      } finally {
        release();
      }
    };
    const stores = await Promise.all(names.map(work));
    const found = await Promise.all(stores.map(async (store) => (await store.session("chat").message("m"))?.parts));
    expect(found).toEqual(names.map((text) => [{ type: "text", text }]));
    expect(await schemasLike("stemma\\_%")).toHaveLength(12);
    const [row] = await server.query(
      server.url,
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    expect(row?.n).toBeLessThanOrEqual(10 + 4);
    await close();
  });

  it("is opened by two servers at once", async () => {
    const two = [1, 2].map(() => openTenants({ tenants: "schema", maxTenants: 3 }, { db: server.url }, (s) => s));
    const held = await Promise.all(two.flatMap(({ tenants }) => [tenants.hold("both"), tenants.hold("both")]));
    await Promise.all(held.map(({ store }, n) => store.sessions.create({ id: `s${n}`, name: "" })));
    expect(await held[0]?.store.sessions.count()).toBe(4);
    await Promise.all(two.map(({ close }) => close()));
  });

  it("takes no tenant whose schema is the server's own", async () => {
    const own = { db: server.url, schema: "stemma_keys" };
    const { tenants, close } = openTenants({ tenants: "schema", maxTenants: 3 }, own, (store) => store);
    await expect(tenants.hold("keys")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await close();
    expect(() => openTenants({ tenants: "schema", maxTenants: 3 }, { db: "a.db" }, (store) => store)).toThrow("--db");
  });

  it("erases a tenant's schema under another server that has it open, and leaves those of other programs", async () => {
    const control = memory();
    const open = () => openTenants({ tenants: server.url, maxTenants: 3 }, {}, (store) => store, { control });
    const [one, two] = [open(), open()];
    for (const name of ["gone", "kept"]) {
      const { store, release } = await two.tenants.hold(name);
      await store.session("chat").append([said("m", name)]);
      release();
    }
    await server.query(server.url, "CREATE SCHEMA stemma_other CREATE TABLE theirs (n INT)");
    expect(await one.tenants.erase("gone")).toEqual({ keys: 0, wasStored: true });
    await expect(two.tenants.hold("gone")).rejects.toMatchObject({ code: "TENANT_ERASED" });
    await expect(one.tenants.erase("other")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await one.tenants.erase("never")).toEqual({ keys: 0, wasStored: false });
    const names = (await one.tenants.list()).filter(({ isStored }) => isStored).map(({ tenant }) => tenant);
    expect([names.includes("gone"), names.includes("kept"), names.includes("other")]).toEqual([false, true, false]);
    expect(await schemasLike("stemma\\_other")).toEqual(["stemma_other"]);
    await Promise.all([one.close(), two.close()]);
  }, 60_000);
});
