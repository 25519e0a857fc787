import type { StorageLike } from "./open-store.js";
import { MemorySessionStorage } from "./storages/memory-storage.js";

let storage: StorageLike | null = null;

/** Sets the storage for all later sessions that name none. Errors: none; a wrong storage fails when a session is opened. */
export function setDefaultStorage(next: StorageLike): void {
  storage = next;
}

/** The storage that was set, or one in memory that ends with the process. */
export function defaultStorage(): StorageLike {
  storage ??= new MemorySessionStorage();
  return storage;
}
