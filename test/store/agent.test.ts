import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { Session } from "../../src/session.js";
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

it("runs a write in the transactionSync of the agent, or of the storage that it has", async () => {
  for (const own of [true, false]) {
    let within = 0;
    const database = openDatabase();
    const transactionSync = <T>(work: () => T): T => {
      within += 1;
      return database.transaction(work)();
    };
    const sql = (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = database.prepare(strings.join("?"));
      return statement.reader ? statement.all(...values) : void statement.run(...values);
    };
    const store = storeOf(own ? { sql, transactionSync } : { sql, ctx: { storage: { transactionSync } } });
    expect(store.capabilities.transactions).toBe(true);
    await store.migrate();
    within = 0;
    await Session.create(store).appendMessage({ id: "a", role: "user", parts: [] });
    expect(within).toBe(1);
  }
});

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
