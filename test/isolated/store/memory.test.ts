import { createRequire } from "node:module";
import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { type MemoryOptions, memory } from "../../../packages/store/src/memory.js";
import type { SqliteClient } from "../../../packages/store/src/sqlite.js";
import { describeStore } from "../../describe-store.js";
import { corruptMessage, failingClient } from "../../store/file-target.js";

const target: StoreTarget = { name: "memory", open: () => memory(), capabilities: { durable: false } };

describeStore("memory", { ...target, ...reachingIn() });

/** Ways to the database that `memory()` opens by itself, where better-sqlite3 is the module that it opens it with. */
function reachingIn(): Partial<StoreTarget> {
  const require = createRequire(import.meta.url);
  const module = findModule();
  if (module === undefined) return {};
  const clients = new WeakMap<Store, SqliteClient>();
  const real = module.exports;
  let next: (statement: string) => void = () => {};
  let opened: SqliteClient | undefined;
  // For all that this process opens: which engine there is is asked once.
  module.exports = function Database(path: string) {
    opened = failingClient(new real(path), next);
    return opened;
  };
  const open = (before: (statement: string) => void = () => {}, options: MemoryOptions = {}): Store => {
    next = before;
    const store = memory(options);
    clients.set(store, opened as SqliteClient);
    return store;
  };
  return {
    open: () => open(),
    corrupt: (store, sessionId, messageId) => corruptMessage(clients.get(store) as SqliteClient, sessionId, messageId),
    openWithFaults: (before) => open(before),
    openWithTools: () => open(undefined, { search: { tools: true } }),
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
