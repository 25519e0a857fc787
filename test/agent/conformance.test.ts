import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { FileSessionStorage, MemorySessionStorage, openStore, type SessionStorage } from "../../src/agent.js";
import type { Store } from "../../src/storage/contract.js";
import { describeStore, type StoreTarget, type TestRunner } from "../../src/testing.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-storages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;

function newDirectory(): string {
  folders += 1;
  return join(folder, String(folders));
}

/** A storage that calls `before` ahead of whatever it does. */
function withFaults(storage: SessionStorage, before: (what: string) => void): SessionStorage {
  return {
    async save(state) {
      before("save");
      await storage.save(state);
    },
    async load(id) {
      before("load");
      return storage.load(id);
    },
    async delete(id) {
      before("delete");
      await storage.delete(id);
    },
    async list() {
      before("list");
      return storage.list();
    },
  };
}

/** Opens stores on storages, and remembers which lies on which. */
function targetOf(
  name: string,
  make: () => SessionStorage,
  beside: ((storage: SessionStorage) => SessionStorage) | null,
) {
  const storages = new WeakMap<Store, SessionStorage>();
  const storageOf = (store: Store) => {
    const storage = storages.get(store);
    if (storage === undefined) throw new TypeError("This store was not opened here.");
    return storage;
  };
  const open = async (storage: SessionStorage, opened = storage) => {
    const store = await openStore(opened);
    storages.set(store, storage);
    return store;
  };
  const target: StoreTarget = {
    name,
    open: () => open(make()),
    ...(beside === null ? {} : { reopen: (store: Store) => open(beside(storageOf(store))) }),
    capabilities: { durable: beside !== null },
    openWithFaults(before) {
      const storage = make();
      return open(storage, withFaults(storage, before));
    },
    async dump(store) {
      const storage = storageOf(store);
      return Promise.all((await storage.list()).sort().map((id) => storage.load(id)));
    },
  };
  return target;
}

/** A runner that skips what cannot hold, and says why. */
function skipping(titles: readonly string[], reason: string): TestRunner {
  const run = (title: string, body: () => Promise<void>) =>
    titles.includes(title) ? it.skip(`${title} (${reason})`, body) : it(title, body);
  return { describe, it: Object.assign(run, { skip: it.skip }) };
}

describeStore(
  targetOf("a store on MemorySessionStorage", () => new MemorySessionStorage(), null),
  { describe, it },
);

const directories = new WeakMap<SessionStorage, string>();
const files = (directory: string) => {
  const storage = new FileSessionStorage(directory);
  directories.set(storage, directory);
  return storage;
};
describeStore(
  targetOf(
    "a store on FileSessionStorage",
    () => files(newDirectory()),
    (storage) => files(directories.get(storage) ?? ""),
  ),
  skipping(
    [
      "takes session ids of any script, spacing and punctuation, and tells them apart",
      "does not let a label take the place of the frozen prompt",
      "registers an id that is written to, named as its id",
      "shows no text of one session in any read of another",
      "shows no text of one session in any search, block, prompt or tool of another",
      "changes nothing of one session by writing to another",
      "keeps sessions apart whose numbers or names lie side by side",
    ],
    "uses ids that are refused as file names",
  ),
);
