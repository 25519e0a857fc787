import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as api from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import type { SyncConnection } from "../../../packages/store/src/engine/connection.js";
import type { Migration } from "../../../packages/store/src/engine/migrations.js";
import { all, first, run } from "../../../packages/store/src/engine/operation.js";
import { sqlStore } from "../../../packages/store/src/sql/sql-store.js";
import { connectClient } from "../../../packages/store/src/sqlite/client.js";
import { sqliteDialect } from "../../../packages/store/src/sqlite/dialect.js";
import { SQLITE_MIGRATIONS } from "../../../packages/store/src/sqlite/migrations/index.js";
import { isPrepared } from "../../../packages/store/src/sqlite/schema.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { writeTwoSessions } from "../../fixtures/two-sessions.mjs";
import { failingClient } from "../../store/file-target.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-migrations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const KNOWN = SQLITE_MIGRATIONS.length;

let present: Buffer;
beforeAll(async () => {
  const database = new Database(":memory:");
  await writeTwoSessions(api, sqlite(database));
  present = database.serialize();
});

let files = 0;
function presentVersion(): string {
  const path = join(folder, `${++files}.sqlite`);
  writeFileSync(path, present);
  return path;
}

/** A store on a client that knows other migrations than this program. */
function openWith(client: SqliteClient, migrations: readonly Migration[]): Store {
  const connection = connectClient(client);
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 900_000_000, search: true, migrations });
  const options = { durable: true, transactions: true, isPrepared: () => isPrepared(dialect, connection, migrations) };
  return sqlStore(connection, dialect, options);
}

/** What a coming version might do: a column, a table, and rows that are made of others. */
function* madeUp(): ReturnType<Migration> {
  const columns = yield* all<{ name: string }>("SELECT name FROM pragma_table_info('assistant_sessions')");
  if (!columns.some(({ name }) => name === "messages")) {
    yield* run("ALTER TABLE assistant_sessions ADD COLUMN messages INTEGER NOT NULL DEFAULT 0");
  }
  yield* run("CREATE TABLE IF NOT EXISTS assistant_words (no INTEGER PRIMARY KEY, words INTEGER NOT NULL)");
  for (const { no, id } of yield* all<{ no: number; id: string }>(
    "SELECT no, id FROM assistant_sessions ORDER BY no",
  )) {
    const found = yield* first<{ count: number }>(
      "SELECT count(*) AS count FROM assistant_messages WHERE session_id = ?",
      id,
    );
    yield* run("UPDATE assistant_sessions SET messages = ? WHERE no = ?", found?.count ?? 0, no);
    yield* run("INSERT INTO assistant_words (no, words) VALUES (?, 1) ON CONFLICT DO NOTHING", no);
  }
}

const NEXT: readonly Migration[] = [...SQLITE_MIGRATIONS, madeUp];

async function expectMadeUp(database: Database.Database): Promise<void> {
  const rows = (sql: string) => database.prepare(sql).raw().all();
  expect(rows("SELECT max(version), count(*) FROM assistant_schema")).toEqual([[KNOWN + 1, 1]]);
  expect(rows("SELECT id, messages FROM assistant_sessions ORDER BY no")).toEqual([
    ["words", 8],
    ["other", 2],
  ]);
  expect(rows("SELECT no FROM assistant_words ORDER BY no")).toEqual([[1], [2]]);
  const store = openWith(database, NEXT);
  const session = api.Session.create(store).forSession("words");
  expect((await session.getHistory()).map(({ id }) => id)).toEqual([
    "1",
    expect.stringMatching(/^compaction_/),
    "5",
    "6",
    "7",
  ]);
  expect((await session.search("deployment")).map(({ id }) => id).sort()).toEqual(["1", "8"]);
}

describe("the tables of SQLite", () => {
  const definitions = (database: Database.Database): string =>
    database
      .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
      .pluck()
      .all()
      .map((sql) => `${sql};\n`)
      .join("\n");

  it("are those of the snapshot: a change of them is a migration", async () => {
    const database = new Database(":memory:");
    await openWith(database, SQLITE_MIGRATIONS).migrate();
    await expect(definitions(database)).toMatchFileSnapshot("../../fixtures/schema/sqlite.sql");
  });

  it("are the same where they were upgraded", async () => {
    const fresh = new Database(":memory:");
    await openWith(fresh, SQLITE_MIGRATIONS).migrate();
    for (const fixture of ["agents-0.22.0.sqlite", "agents-0.9.0.sqlite"]) {
      const database = new Database(readFileSync(join(import.meta.dirname, "../../fixtures", fixture)));
      await openWith(database, SQLITE_MIGRATIONS).migrate();
      const ours = definitions(fresh).split(/(?<=;\n)\n/);
      expect(definitions(database).split(/(?<=;\n)\n/)).toEqual(expect.arrayContaining(ours));
    }
  });

  it("are made by one file for each version", () => {
    const names = readdirSync(join(import.meta.dirname, "../../../packages/store/src/sqlite/migrations")).sort();
    expect(names.filter((name) => /^\d{3}-/.test(name)).map((name) => Number(name.slice(0, 3)))).toEqual(
      SQLITE_MIGRATIONS.map((_, index) => index + 1),
    );
  });
});

describe("a version that is to come, on a database of the present one", () => {
  it("is reached, with its record", async () => {
    const database = new Database(presentVersion());
    await openWith(database, NEXT).migrate();
    await expectMadeUp(database);
  });

  it.each([
    ["nothing", () => ":memory:"],
    ["the present one", presentVersion],
  ])("is reached from %s where any statement fails first, and each version whole or not at all", async (from, path) => {
    const database = new Database(path());
    let at = 0;
    let seen = 0;
    let failures = 0;
    const client = failingClient(database, () => {
      seen += 1;
      if (seen === at) throw new RangeError("injected");
    });
    const isThere = database.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'assistant_schema'").pluck();
    const version = () =>
      isThere.get() === 1 ? database.prepare("SELECT max(version) FROM assistant_schema").pluck().get() : null;
    // The search index is made behind the versions, in steps of its own.
    const tables = () =>
      database.prepare("SELECT sql FROM sqlite_schema WHERE name NOT LIKE '%_fts%' ORDER BY name").pluck().all();
    const definitionsOf = new Map<unknown, unknown>([[version(), tables()]]);
    // The first statement only asks whether there is anything to do.
    for (at = 2; ; at += 1) {
      seen = 0;
      const failed = await openWith(client, NEXT)
        .migrate()
        .then(
          () => false,
          () => true,
        );
      if (!failed) break;
      failures += 1;
      const reached = version();
      if (!definitionsOf.has(reached)) {
        definitionsOf.set(reached, tables());
        at = 1;
      } else expect(tables()).toEqual(definitionsOf.get(reached));
    }
    expect(failures).toBeGreaterThan(10);
    expect([...definitionsOf.keys()]).toEqual([...(from === "nothing" ? [null] : []), KNOWN, KNOWN + 1]);
    if (from === "nothing") await writeTwoSessions(api, openWith(database, NEXT));
    else await expectMadeUp(database);
  });

  it("is reached from what a kill leaves before any statement", async () => {
    const path = presentVersion();
    const database = new Database(path);
    database.pragma("journal_mode = WAL");
    const copies: string[] = [];
    const client = failingClient(database, () => {
      const copy = join(folder, `killed-${++files}.sqlite`);
      for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
      copies.push(copy);
    });
    await openWith(client, NEXT).migrate();
    expect(copies.length).toBeGreaterThan(10);
    for (const copy of copies) {
      const killed = new Database(copy);
      await openWith(killed, NEXT).migrate();
      await expectMadeUp(killed);
      killed.close();
    }
  });

  it("is reached statement by statement, where an engine has no transactions", async () => {
    const database = new Database(presentVersion());
    let at = 0;
    let seen = 0;
    const bare: SqliteClient = failingClient(database, (sql) => {
      // Whatever begins or ends a transaction does nothing here.
      if (/^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)/i.test(sql)) return;
      seen += 1;
      if (seen === at) throw new RangeError("injected");
    });
    const connection: SyncConnection = {
      ...connectClient(bare),
      transaction: (_mode, work) => work(),
    };
    const dialect = sqliteDialect({ name: "agent", maxTextBytes: 1_900_000, search: true, migrations: NEXT });
    const store = () =>
      sqlStore(connection, dialect, {
        durable: true,
        transactions: false,
      });
    for (at = 1; at < 100; at += 1) {
      seen = 0;
      const failed = await store()
        .migrate()
        .then(
          () => false,
          () => true,
        );
      if (!failed) break;
    }
    await expectMadeUp(database);
  });

  it("is refused by a program that does not know it, which changes nothing", async () => {
    const database = new Database(presentVersion());
    await openWith(database, NEXT).migrate();
    const before = database.serialize();
    await expect(openWith(database, SQLITE_MIGRATIONS).migrate()).rejects.toMatchObject({ code: "DATABASE_TOO_NEW" });
    expect(database.serialize().equals(before)).toBe(true);
  });
});
