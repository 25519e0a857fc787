// Version 12 on a database that version 11 left: written by this one, and then made what it was.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { type PostgresSource, postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { POSTGRES_MIGRATIONS } from "../../../packages/postgres/src/tables/migrations/index.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import { textMessage } from "../../helpers/messages.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

const BY_NUMBER = readFileSync(join(import.meta.dirname, "../../fixtures/registry-by-number.postgres.sql"), "utf8");

const NUMBERED = readFileSync(join(import.meta.dirname, "../../fixtures/numbered-sessions.postgres.sql"), "utf8");

/** The minute since 2020 in which a session that is registered now gets its number. */
const minute = () => Math.floor((Date.now() - Date.UTC(2020)) / 60_000);

const KEYS = `SELECT pg_get_constraintdef(oid) AS key FROM pg_constraint
  WHERE conrelid = 'assistant_sessions'::regclass AND contype IN ('p', 'u') ORDER BY 1`;
const TRIGGERS = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal";

describeServer("a registry that is keyed by numbers", (server) => {
  let url = "";
  beforeEach(async () => {
    url = await server.createDatabase();
    const store = postgres(url).withEmbedder(hashingEmbedder());
    for (const id of ["one", "two", "three"])
      await store.session(id).append([textMessage("a", `apples of ${id}`)], undefined);
    await store.embeddings.flush();
    await store.sessions.delete("three");
    await store.close();
    await server.query(url, NUMBERED);
    await server.query(url, BY_NUMBER);
  });

  const numbers = () => server.query(url, "SELECT id, no::int FROM assistant_sessions ORDER BY no");

  async function expectKeyedById(keys: readonly string[]): Promise<void> {
    const store = postgres(url);
    await store.session("four").append([textMessage("a", "apples of four")], undefined);
    const found = await numbers();
    expect(found.slice(0, 2)).toEqual([
      { id: "one", no: 1 },
      { id: "two", no: 2 },
    ]);
    expect(found.slice(2)).toEqual([{ id: "four", no: expect.closeTo(minute(), -1) }]);
    expect((await server.query(url, KEYS)).map(({ key }) => key)).toEqual(keys);
    expect(await server.query(url, TRIGGERS)).toEqual([]);
    expect(await server.query(url, "SELECT version FROM assistant_schema")).toEqual([
      { version: POSTGRES_MIGRATIONS.length },
    ]);
    expect((await store.check?.())?.problems).toEqual([]);
    await store.close();
  }

  it.each([
    ["the program", async () => {}],
    ["the printed script, twice", () => server.query(url, `${schemaSql()}\n${schemaSql()}`)],
  ])("is keyed by ids by %s, and keeps its numbers", async (_, prepare) => {
    await prepare();
    await expectKeyedById(["PRIMARY KEY (id)"]);
  });

  it("is keyed by ids where any statement fails first", async () => {
    const pool = openPool(url);
    let at = 1;
    for (let failed = true; failed; at += 1) {
      let seen = 0;
      const source = pool.failing(() => {
        seen += 1;
        if (seen === at) throw new Error("injected");
      });
      failed = await postgres(source as PostgresSource)
        .migrate()
        .then(
          () => seen >= at,
          () => true,
        );
      const [row] = await pool.query("SELECT version FROM assistant_schema");
      const keys = (await pool.query(KEYS)).map(({ key }) => key);
      const keyed = ["PRIMARY KEY (id)", ...(Number(row?.version) < 16 ? ["UNIQUE (no)"] : [])];
      expect(keys).toEqual(row?.version === 11 ? ["PRIMARY KEY (no)", "UNIQUE (id)"] : keyed);
    }
    expect(at).toBeGreaterThan(10);
    await pool.close();
    await expectKeyedById(["PRIMARY KEY (id)"]);
  });

  it("keeps a tenant before the id", async () => {
    await server.query(
      url,
      `ALTER TABLE assistant_sessions ADD COLUMN tenant TEXT NOT NULL DEFAULT 'acme', DROP CONSTRAINT assistant_sessions_id_key,
       ADD UNIQUE (tenant, id)`,
    );
    await expectKeyedById(["PRIMARY KEY (tenant, id)"]);
  });

  it("gives numbers to a role that may write to its tables, and no more", async () => {
    await server.query(url, schemaSql());
    await server.query(
      url,
      `DROP ROLE IF EXISTS numbered; CREATE ROLE numbered LOGIN;
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO numbered`,
    );
    const store = postgres(url.replace("postgres@", "numbered@"));
    await store.session("four").append([textMessage("a", "apples")], undefined);
    expect((await numbers()).at(-1)?.id).toBe("four");
    await store.close();
  });

  it("leaves the vector of an edited message to the statement that edits it", async () => {
    const store = postgres(url);
    await Session.create(store).forSession("one").updateMessage(textMessage("a", "plums"));
    await store.close();
    const marked = "SELECT session_id FROM assistant_vectors WHERE embedder = 0";
    expect(await server.query(url, marked)).toEqual([{ session_id: "one" }]);
  });
});
