import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { expectError } from "../../../packages/conformance/src/assert.js";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { PostgresContextProvider, PostgresSearchProvider, Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

const SCHEMA = readFileSync(join(import.meta.dirname, "../../postgres/documents-schema.sql"), "utf8");

const content = (id: string, text: string) => JSON.stringify({ id, role: "user", parts: [{ type: "text", text }] });

// Two sessions that share an id; a branch; a child whose row is older than its parent's; a row that cannot be read; an
// orphan; a compaction, and one whose range is gone.
const DATA = `
  INSERT INTO assistant_messages (id, session_id, parent_id, role, content, text_content, created_at) VALUES
    ('a', 's', NULL, 'user', '${content("a", "red apples")}', 'red apples', '2026-01-01 10:00:00.123456+00'),
    ('b', 's', 'a', 'user', '${content("b", "green pears")}', 'green pears', '2026-01-01 10:00:01+00'),
    ('d', 's', 'c', 'user', '${content("d", "blue plums")}', 'blue plums', '2026-01-01 10:00:02+00'),
    ('c', 's', 'b', 'user', '${content("c", "yellow lemons")}', 'yellow lemons', '2026-01-01 10:00:03+00'),
    ('x', 's', 'b', 'user', '{"id":"x","ro', '', '2026-01-01 10:00:01.5+00'),
    ('a', 't', NULL, 'user', '${content("a", "another a")}', 'another a', '2026-01-01 11:00:00+00'),
    ('b', 't', 'a', 'user', '${content("b", "another b")}', 'another b', '2026-01-01 11:00:01+00'),
    ('o', 'u', 'gone', 'user', '${content("o", "an orphan")}', 'an orphan', '2026-01-01 12:00:00+00');
  INSERT INTO assistant_compactions (id, session_id, summary, from_message_id, to_message_id, created_at) VALUES
    ('k1', 's', 'apples and pears', 'a', 'b', '2026-01-02 10:00:00+00'),
    ('k2', 't', 'what is gone', 'gone', 'a', '2026-01-02 11:00:00+00');
  INSERT INTO cf_agents_context_blocks (label, content) VALUES ('memory_s', 'User likes fruit.'), ('_prompt_s', 'The prompt.');
  INSERT INTO cf_agents_search_entries (label, key, content) VALUES ('knowledge', 'fruit', 'Bananas are berries.');`;

describeServer("a database of the documents' DDL", (server) => {
  let url = "";
  const stores: Store[] = [];
  const open = (at = url): Store => {
    const store = postgres(at);
    stores.push(store);
    return store;
  };

  beforeEach(async () => {
    url = await server.createDatabase();
    await server.query(url, SCHEMA);
    await server.query(url, DATA);
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  async function expectEverything(store: Store): Promise<void> {
    const session = Session.create(store).forSession("s");
    expect((await store.session("s").tree()).map(({ id, parentId }) => [id, parentId])).toEqual([
      ["a", null],
      ["b", "a"],
      ["x", "b"],
      ["c", "b"],
      ["d", "c"],
    ]);
    expect((await session.getHistory("d")).map(({ id }) => id)).toEqual(["compaction_k1", "c", "d"]);
    expect((await session.expandCompaction("k1")).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(await session.getCompactions()).toMatchObject([{ id: "k1", createdAt: "2026-01-02T10:00:00.000Z" }]);
    expect((await session.getLatestLeaf())?.id).toBe("d");
    await expectError(session.getHistory("x"), "CORRUPT_MESSAGE");
    expect((await session.search("apple lemon")).map(({ id }) => id).sort()).toEqual(["a", "c"]);
    expect((await store.session("s").tree())[0]?.createdAt).toBe("2026-01-01T10:00:00.123Z");
    expect((await Session.create(store).forSession("t").getHistory()).map(({ parts }) => parts[0]?.text)).toEqual([
      "another a",
      "another b",
    ]);
    expect((await Session.create(store).forSession("u").getHistory()).map(({ id }) => id)).toEqual(["o"]);
    expect(await new PostgresContextProvider(store, "memory_s").get()).toBe("User likes fruit.");
    expect(await new PostgresContextProvider(store, "_prompt_s").get()).toBe("The prompt.");
    expect(await new PostgresSearchProvider(store, "knowledge").search("banana")).toContain("Bananas are berries.");
    for (const id of ["s", "a session that is new"]) {
      const reading = Session.create(store).forSession(id);
      reading.withContext("knowledge", { provider: new PostgresSearchProvider(store) });
      const { search_context } = await reading.tools();
      expect(await search_context?.execute({ label: "knowledge", query: "banana" })).toContain("Bananas are berries.");
    }
  }

  it("is upgraded in place, with nothing lost, and goes on", async () => {
    const store = open();
    await expectEverything(store);
    const session = Session.create(store).forSession("s");
    await session.appendMessage({ id: "e", role: "user", parts: [] });
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["compaction_k1", "c", "d", "e"]);
    expect(await session.getMessage("a")).toEqual(JSON.parse(content("a", "red apples")));
  });

  it.each([
    ["upgraded", async () => open().migrate()],
    ["half upgraded: by the printed SQL, before a program did the rest", () => server.query(url, schemaSql())],
  ])("takes the documents' DDL once more when it is %s, and goes on", async (_title, upgrade) => {
    await upgrade();
    await server.query(url, SCHEMA);
    const store = open();
    await expectEverything(store);
    await server.query(url, SCHEMA);
    await server.query(url, schemaSql());
    await server.query(url, SCHEMA);
    // What a generated column would refuse.
    const text = Array.from({ length: 200_000 }, (_, word) => `word${word}`).join(" ");
    const session = Session.create(store).forSession("long");
    await session.appendMessage({ id: "m", role: "user", parts: [{ type: "text", text }] });
    expect((await session.search("word199999")).map(({ id }) => id)).toEqual(["m"]);
    await new PostgresSearchProvider(store, "knowledge").set("long", text);
    await expectEverything(open());
    expect((await store.check?.())?.problems.map(({ id }) => id)).toEqual(["x"]);
  });

  it("is upgraded once by several processes that come at the same time", async () => {
    const [first, ...others] = [open(), open(), open(), open()];
    await Promise.all([first, ...others].map((store) => store?.migrate()));
    await expectEverything(first as Store);
  });

  it("has every row as it was, or upgraded, when the upgrade fails at any tenth statement, and the next attempt goes on", async () => {
    const pool = openPool(url);
    const rows = () => pool.query("SELECT to_jsonb(m)::text AS row FROM assistant_messages m ORDER BY 1");
    const before = await rows();
    const upgraded = () => pool.query("SELECT to_regclass('assistant_schema') IS NOT NULL AS done");
    let failures = 0;
    for (let failAt = 10, failed = true; failed; failAt += 10) {
      let count = 0;
      failed = false;
      const source = pool.failing(() => {
        count += 1;
        if (count !== failAt) return;
        failed = true;
        throw new Error("The test fails this statement.");
      });
      const attempt = postgres(source).migrate();
      await attempt.catch(() => {});
      if (!failed) break;
      failures += 1;
      const [{ done } = {}] = await upgraded();
      if (done)
        expect(await pool.query("SELECT to_regclass('agents_before_upgrade_assistant_messages')::text AS old")).toEqual(
          [{ old: null }],
        );
      else expect(await rows()).toEqual(before);
    }
    expect(failures).toBeGreaterThan(5);
    await pool.close();
    await expectEverything(open());
  });

  it("keeps the rights that were granted on its tables", async () => {
    await server.query(url, "CREATE ROLE reader LOGIN; GRANT SELECT ON assistant_messages TO reader");
    await open().migrate();
    const asReader = url.replace("postgres@", "reader@");
    expect(await server.query(asReader, "SELECT count(*)::int AS count FROM assistant_messages")).toEqual([
      { count: 8 },
    ]);
  });

  it("is upgraded by the printed SQL and a role that may not change tables", async () => {
    const name = `app_${url.split("/").at(-1)}`;
    await server.query(
      url,
      `CREATE ROLE ${name} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`,
    );
    const asApp = url.replace("postgres@", `${name}@`);
    const refusal = await open(asApp)
      .migrate()
      .catch((error) => error);
    expect(refusal).toMatchObject({ code: "MIGRATION_REQUIRED", details: { role: name } });
    expect(refusal.message).toContain("npx stemma migrate --db");

    await server.query(url, schemaSql());
    await server.query(url, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`);
    await expectEverything(open(asApp));
    await server.query(url, schemaSql());
    await expectEverything(open(asApp));
  });

  it("stores texts that the generated tsvector column refused", async () => {
    const words = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(" ");
    const pool = new pg.Pool({ connectionString: url });
    const insert =
      "INSERT INTO assistant_messages (id, session_id, role, content, text_content) VALUES ('w', 's', 'user', '{}', $1)";
    await expect(pool.query(insert, [words])).rejects.toThrow(/string is too long for tsvector/);
    await pool.end();
    const session = Session.create(open()).forSession("s");
    await session.appendMessage({ id: "w", role: "user", parts: [{ type: "text", text: words }] });
    expect((await session.getMessage("w"))?.parts[0]?.text).toBe(words);
    expect(await session.search("word199999")).toMatchObject([{ id: "w" }]);
  });
});
