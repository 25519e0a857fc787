import { createRequire } from "node:module";
import { memory } from "../../src/memory.js";
import type { SqliteClient } from "../../src/sqlite.js";
import type { Store } from "../../src/storage/contract.js";
import type { StoreTarget } from "../../src/testing.js";
import { describeStore } from "../describe-store.js";
import { corruptMessage, failingClient } from "./file-target.js";

const target: StoreTarget = { name: "memory", open: () => memory(), capabilities: { durable: false } };

describeStore("memory", { ...target, ...reachingIn() });

/** Ways to the database that `memory()` opens by itself, where better-sqlite3 is the module that it opens it with. */
function reachingIn(): Partial<StoreTarget> {
  const require = createRequire(import.meta.url);
  const module = findModule();
  if (module === undefined) return {};
  const clients = new WeakMap<Store, SqliteClient>();
  const open = (before: (statement: string) => void = () => {}): Store => {
    let client: SqliteClient | undefined;
    const real = module.exports;
    module.exports = function Database(path: string) {
      client = failingClient(new real(path), before);
      return client;
    };
    try {
      const store = memory();
      clients.set(store, client as unknown as SqliteClient);
      return store;
    } finally {
      module.exports = real;
    }
  };
  return {
    open: () => open(),
    corrupt: (store, sessionId, messageId) => corruptMessage(clients.get(store) as SqliteClient, sessionId, messageId),
    openWithFaults: open,
  };

  function findModule(): NodeJS.Module | undefined {
    try {
      new (require("better-sqlite3"))(":memory:").close();
      return require.cache[require.resolve("better-sqlite3")];
    } catch {
      return undefined;
    }
  }
}
