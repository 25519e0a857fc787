import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { sqlite } from "../../src/sqlite.js";
import type { Store } from "../../src/storage/contract.js";
import { describeStore } from "../../src/testing.js";
import { corruptMessage, dumpTables, failingClient, openDatabase } from "./databases.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-"));
const paths = new WeakMap<Store, string>();
let files = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Not `full`: no power is cut here, and the disk of a test machine is slow.
function open(path: string): Store {
  const store = sqlite(path, { synchronous: "normal" });
  paths.set(store, path);
  return store;
}

const pathOf = (store: Store) => paths.get(store) as string;

describeStore(
  {
    name: "sqlite",
    open: () => open(join(folder, `${++files}.db`)),
    reopen: (store) => open(pathOf(store)),
    corrupt: (store, sessionId, messageId) => corruptMessage(pathOf(store), sessionId, messageId),
    openWithFaults: (before) => {
      const path = join(folder, `${++files}.db`);
      const store = sqlite(failingClient(openDatabase(path), before));
      paths.set(store, path);
      return store;
    },
    dump: (store) => dumpTables(pathOf(store)),
  },
  { describe, it },
);
