import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import {
  FileSessionStorage,
  MemorySessionStorage,
  openStore,
  type SessionState,
  type SessionStorage,
} from "../../../packages/stemma/src/agent.js";
import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { ALL, describeStore, OF_STORAGES } from "../../describe-store.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";

const folder = makeFastFolder();
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
    capabilities: { embeddings: false, check: false, durable: beside !== null },
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

// The program of the docs meets this one with the whole suite.
if (ALL)
  describeStore(
    "storages",
    targetOf("a store on MemorySessionStorage", () => new MemorySessionStorage(), null),
  );

// Every id that was used, at the number that stands for it.
const ids: string[] = [];

/** Files take only plain ids: here a number stands for any other. */
function anyId(files: FileSessionStorage): SessionStorage & Pick<FileSessionStorage, "version" | "versionOf"> {
  const inFile = new WeakMap<SessionState, SessionState>();
  const plain = (id: string) => String(ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1);
  return {
    async save(state) {
      const copy = { ...state, id: plain(state.id) };
      await files.save(copy);
      inFile.set(state, copy);
    },
    async load(id) {
      const copy = await files.load(plain(id));
      if (copy === undefined) return undefined;
      const state = { ...copy, id };
      inFile.set(state, copy);
      return state;
    },
    delete: (id) => files.delete(plain(id)),
    list: async () => (await files.list()).map((name) => ids[Number(name)] ?? ""),
    version: (id) => files.version(plain(id)),
    versionOf: (state) => files.versionOf(inFile.get(state) ?? state),
  };
}

const directories = new WeakMap<SessionStorage, string>();
function filesIn(directory: string): SessionStorage {
  const storage = anyId(new FileSessionStorage(directory));
  directories.set(storage, directory);
  return storage;
}
describeStore(
  "storages",
  targetOf(
    "a store on FileSessionStorage",
    () => filesIn(newDirectory()),
    (storage) => filesIn(directories.get(storage) ?? ""),
  ),
  { differsIn: OF_STORAGES },
);
