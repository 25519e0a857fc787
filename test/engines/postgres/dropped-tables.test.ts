import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { TABLES } from "../../../packages/postgres/src/tables/names.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { DATA_TABLES } from "../../../packages/store/src/engine/tables.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

describeServer("tables that another program dropped", (server) => {
  let url = "";
  const opened: Store[] = [];
  const open = (schema?: string): Store => {
    const store = postgres(url, { schema });
    opened.push(store);
    return store;
  };
  const fill = async (schema?: string): Promise<void> => {
    const store = open(schema);
    await SessionManager.create(store).append("s", textMessage("a", "hello"));
    await store.close();
  };
  const drop = (tables: readonly string[], schema = "public") =>
    server.query(url, `DROP TABLE ${tables.map((name) => `${schema}.${name}`).join(", ")} CASCADE`);
  const failure = (store: Store) =>
    store.sessions.list({}).then(
      () => null,
      (error) => error,
    );

  beforeEach(async () => {
    url = await server.createDatabase();
  });
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));

  it.each([undefined, "notes"])(
    "are missed when all are gone and the functions are left, in the schema %s",
    async (schema) => {
      await fill(schema);
      await drop(TABLES, schema);
      const error = await failure(open(schema));
      expect(error).toMatchObject({ code: "TABLES_MISSING" });
      expect(error.message).toContain("assistant_messages");
      expect(error.message).toContain("tablesFilter");
      expect(await failure(open(schema))).toMatchObject({ code: "TABLES_MISSING" });
    },
  );

  it("are missed when the record of the version is gone with them, and other tables are left", async () => {
    await fill();
    await drop(["assistant_schema", "assistant_messages"]);
    expect((await failure(open())).details.tables).toEqual(["assistant_schema", "assistant_messages"]);
  });

  it.each(DATA_TABLES)("are missed one by one: %s", async (table) => {
    await fill();
    await drop([table]);
    expect(await failure(open())).toMatchObject({ code: "TABLES_MISSING", details: { tables: [table] } });
  });

  it("are missed while a store is open", async () => {
    await fill();
    const store = open();
    const manager = SessionManager.create(store);
    await manager.list();
    await drop(["assistant_messages"]);
    await expect(manager.append("s", textMessage("b", "more"))).rejects.toMatchObject({
      code: "TABLES_MISSING",
      details: { tables: ["assistant_messages"] },
    });
  });

  it("are missed with their functions while a store is open, and the printed script makes the functions anew", async () => {
    await fill();
    const store = open();
    const session = SessionManager.create(store).getSession("s");
    await session.getHistory();
    await server.query(
      url,
      `DO $$ DECLARE name regprocedure; BEGIN
        FOR name IN SELECT oid FROM pg_proc WHERE proname LIKE 'assistant%' LOOP
          EXECUTE format('DROP FUNCTION %s CASCADE', name);
        END LOOP;
      END $$`,
    );
    const append = () => session.appendMessage(textMessage("b", "more"));
    await expect(append()).rejects.toMatchObject({
      code: "TABLES_MISSING",
      details: { tables: ["assistant_append"] },
      message: expect.stringContaining("stemma migrate --print"),
    });
    await server.query(url, schemaSql());
    await append();
    expect(await session.search("more")).toHaveLength(1);
    await server.query(url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    await expect(append()).rejects.toMatchObject({ code: "TABLES_MISSING" });
  });

  it("are made anew when what was left is dropped too, as the documents say", async () => {
    await fill();
    await drop(TABLES);
    const page = readFileSync(join(import.meta.dirname, "../../../docs/errors.md"), "utf8");
    const script = /```sql\n([^`]*DROP FUNCTION[^`]*)```/.exec(page)?.[1] ?? "";
    await server.query(url, script);
    expect(await SessionManager.create(open()).list()).toEqual([]);
  });

  it("are not missed in a database of the documents' DDL, in a script's, and in one that holds tables of others", async () => {
    await server.query(url, readFileSync(join(import.meta.dirname, "../../postgres/documents-schema.sql"), "utf8"));
    await server.query(
      url,
      "CREATE TABLE assistant_notes (id int); CREATE FUNCTION assistant_mood() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    );
    await fill();
    url = await server.createDatabase();
    await server.query(url, schemaSql());
    await fill();
    url = await server.createDatabase();
    await server.query(url, "CREATE SCHEMA old");
    await fill("old");
    await fill();
    expect(await SessionManager.create(open()).list()).toHaveLength(1);
  });
});

describe("the error", () => {
  it("is documented with what to tell drizzle-kit", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/stores/postgres.md"), "utf8");
    expect(page).toContain('tablesFilter: ["!assistant_*", "!cf_agents_*"]');
  });
});
