import { rmSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { storeOf } from "../../../packages/store/src/sql/store-of.js";
import { describeStore, OF_CLIENTS } from "../../describe-store.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { openDatabase } from "../../store/databases.js";
import { failingClient, fileTarget } from "../../store/file-target.js";

const folder = makeFastFolder();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The store of an object with the documented `sql` template: rows are limited, large contents are kept in pieces.
function open(path: string, before = (_statement: string): void => {}, more: object = {}): Store {
  const client = failingClient(openDatabase(path), before);
  return storeOf({
    sql: (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = client.prepare(strings.join("?"));
      if (statement.reader) return statement.all(...values);
      statement.run(...values);
      return [];
    },
    transactionSync: <T>(work: () => T) => client.transaction(work).immediate(),
    ...more,
  });
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

it("asks a new agent nothing that fails, for an agent logs whatever fails", async () => {
  const database = openDatabase();
  let failed = 0;
  const sql = (strings: TemplateStringsArray, ...values: unknown[]) => {
    try {
      const statement = database.prepare(strings.join("?"));
      return statement.reader ? statement.all(...values) : void statement.run(...values);
    } catch (error) {
      failed += 1;
      throw error;
    }
  };
  const store = storeOf({ sql, transactionSync: <T>(work: () => T): T => database.transaction(work)() });
  await Session.create(store).appendMessage({ id: "a", role: "user", parts: [] });
  expect(failed).toBe(0);
});

const capabilities = { embeddings: false, check: false };
/** An agent's store takes no settings of a search. */
function targetOf(name: string, openStore: (path: string, before?: (statement: string) => void) => Store): StoreTarget {
  const { openWithTools: _, ...target } = fileTarget(name, folder, openDatabase, openStore);
  return { ...target, capabilities };
}

// A real Durable Object meets all topics in test/platforms/workers.
const OF_OBJECTS = [...OF_CLIENTS, "history", "forks", "compaction", "writing together", "asked again", "migrations"];

describeStore("agent", targetOf("agent", open), { differsIn: OF_OBJECTS });

const target = targetOf("agent without transactionSync", (path, before) =>
  open(path, before, { transactionSync: undefined }),
);
const withoutTransactions = { ...target, capabilities: { ...capabilities, transactions: false } };
describeStore("agent", withoutTransactions, { differsIn: [...OF_CLIENTS, "writing together", "forks", "migrations"] });
