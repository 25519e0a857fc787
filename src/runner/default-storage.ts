import type { StorageLike } from "./open-store.js";
import { MemorySessionStorage } from "./storages/memory-storage.js";

let storage: StorageLike | null = null;

/** The storage of every later session that names none. */
export function setDefaultStorage(next: StorageLike): void {
  storage = next;
}

/** What was set, else one that lasts as long as the process. */
export function defaultStorage(): StorageLike {
  storage ??= new MemorySessionStorage();
  return storage;
}
