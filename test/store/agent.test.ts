import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, describe, it } from "vitest";
import type { Store } from "../../src/storage/contract.js";
import { storeOf } from "../../src/storage/store-of.js";
import { describeStore } from "../../src/testing.js";
import { corruptMessage, dumpTables, failingClient, openDatabase } from "./databases.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-"));
const opened = new WeakMap<Store, string>();
let files = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The store of an object with the documented `sql` template: rows are limited, large contents are kept in pieces.
function open(path = newPath(), before = (_statement: string): void => {}, more: object = {}): Store {
  const database = openDatabase(path);
  const client = failingClient(database, before) as unknown as Database.Database;
  const store = storeOf({
    sql: (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = client.prepare(strings.join("?"));
      if (statement.reader) return statement.all(...values);
      statement.run(...values);
      return [];
    },
    transactionSync: <T>(work: () => T) => client.transaction(work).immediate(),
    ...more,
  });
  opened.set(store, path);
  return store;
}

const newPath = () => join(folder, `${++files}.db`);
const bare = { transactionSync: undefined };
const pathOf = (store: Store) => opened.get(store) as string;

describeStore(
  {
    name: "agent",
    open: () => open(),
    reopen: (store) => open(pathOf(store)),
    corrupt: (store, sessionId, messageId) => corruptMessage(pathOf(store), sessionId, messageId),
    openWithFaults: (before) => open(undefined, before),
    dump: (store) => dumpTables(pathOf(store)),
  },
  { describe, it },
);

describeStore(
  {
    name: "agent without transactionSync",
    capabilities: { transactions: false },
    open: () => open(newPath(), undefined, bare),
    reopen: (store) => open(pathOf(store), undefined, bare),
    corrupt: (store, sessionId, messageId) => corruptMessage(pathOf(store), sessionId, messageId),
  },
  { describe, it },
);
