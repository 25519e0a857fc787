import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import pg from "pg";
import { afterEach, describe, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { runSync } from "../../../packages/store/src/engine/runner.js";
import { connectClient } from "../../../packages/store/src/sqlite/client.js";
import { sqliteDialect } from "../../../packages/store/src/sqlite/dialect.js";
import { SQLITE_MIGRATIONS } from "../../../packages/store/src/sqlite/migrations/index.js";
import { migrateSqlite } from "../../../packages/store/src/sqlite/schema.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeServer } from "../../postgres/server.js";
import { type OldDatabase, writeAgentsRows, writeOwnRows } from "../../trips/old-rows.js";
import { expectUpgraded, readOldRows } from "../../trips/upgrades.js";

const ROWS = 150;

const DOCUMENTS = readFileSync(join(import.meta.dirname, "../../postgres/documents-schema.sql"), "utf8");

function sqliteRows(database: Database.Database): OldDatabase {
  return {
    columns: async (table) => database.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table) as string[],
    insert: async (table, row) => {
      const names = Object.keys(row);
      database
        .prepare(`INSERT OR IGNORE INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`)
        .run(...Object.values(row));
    },
    all: async (table) => database.prepare(`SELECT * FROM ${table}`).all() as Record<string, unknown>[],
  };
}

describe("what was written to SQLite", () => {
  const stores: Store[] = [];
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  async function expectTrip(database: Database.Database, write: typeof writeOwnRows): Promise<void> {
    const rows = sqliteRows(database);
    await write(rows, ROWS);
    const before = await readOldRows(rows);
    const store = sqlite(database);
    stores.push(store);
    await expectUpgraded(store, before);
  }

  it.each(["0.9.0", "0.22.0"])("by agents %s is the same after the upgrade, or told by check", async (version) => {
    const database = new Database(readFileSync(join(import.meta.dirname, `../../fixtures/agents-${version}.sqlite`)));
    for (const table of ["messages", "compactions", "sessions"]) database.exec(`DELETE FROM assistant_${table}`);
    await expectTrip(database, writeAgentsRows);
  });

  const versions = SQLITE_MIGRATIONS.map((_, index) => index + 1);
  it.each(versions)("by version %i of the tables is the same after the upgrade", async (version) => {
    const database = new Database(":memory:");
    const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 900_000_000, search: true });
    const connection = connectClient(database);
    while (!runSync(migrateSqlite(dialect, SQLITE_MIGRATIONS.slice(0, version)), connection));
    database.exec("UPDATE assistant_schema SET indexed = 0");
    await expectTrip(database, writeOwnRows);
  });
});

describeServer("what was written to Postgres", (server) => {
  it.each([
    ["with the documents' DDL", DOCUMENTS, writeAgentsRows],
    ["by version 1 of the tables", schemaSql(), writeOwnRows],
  ])("%s is the same after the upgrade, or told by check", async (_title, script, write) => {
    const url = await server.createDatabase();
    await server.query(url, script);
    const client = new pg.Client(url);
    await client.connect();
    const rows = postgresRows(client);
    await write(rows, ROWS);
    const before = await readOldRows(rows);
    await client.end();
    const store = postgres(url);
    await expectUpgraded(store, before);
    await store.close();
  });
});

function postgresRows(client: pg.Client): OldDatabase {
  return {
    columns: async (table) =>
      (
        await client.query("SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1", [table])
      ).rows.map(({ name }) => String(name)),
    insert: async (table, row) => {
      const names = Object.keys(row);
      const marks = names.map((_, index) => `$${index + 1}`);
      const insertion = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks.join(", ")}) ON CONFLICT DO NOTHING`;
      // It refuses NUL.
      await client.query(insertion, Object.values(row)).catch((error: pg.DatabaseError) => {
        if (error.code !== "22021") throw error;
      });
    },
    all: async (table) => (await client.query(`SELECT * FROM ${table}`)).rows,
  };
}
