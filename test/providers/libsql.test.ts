import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type BetterSqlite from "better-sqlite3";
import Database from "libsql";
import { afterAll, describe, it } from "vitest";
import { type SqliteClient, sqlite } from "../../src/sqlite.js";
import type { Store } from "../../src/storage/contract.js";
import { describeStore } from "../../src/testing.js";
import { corruptMessage, dumpTables, failingClient } from "../store/databases.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-libsql-"));
const paths = new WeakMap<Store, string>();
let files = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const nextPath = () => join(folder, `${++files}.db`);
const pathOf = (store: Store) => paths.get(store) as string;

function open(path: string, client: (database: Database.Database) => SqliteClient = (database) => database): Store {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = OFF");
  const store = sqlite(client(database));
  paths.set(store, path);
  return store;
}

describeStore(
  {
    name: "libSQL",
    open: () => open(nextPath()),
    reopen: (store) => open(pathOf(store)),
    corrupt: (store, sessionId, messageId) => corruptMessage(pathOf(store), sessionId, messageId),
    openWithFaults: (before) =>
      open(nextPath(), (database) => failingClient(database as unknown as BetterSqlite.Database, before)),
    dump: (store) => dumpTables(pathOf(store)),
  },
  { describe, it },
);
