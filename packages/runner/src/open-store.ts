import { StemmaError } from "@stemma/model";
import type { Store } from "@stemma/store";
import { isStore } from "@stemma/store";
import type { DocumentStore } from "./storages/document/document-store.js";
import type { SessionStorage } from "./types.js";

/** A storage that keeps its sessions in one of our stores, message by message. */
export interface StoreBackedStorage extends SessionStorage {
  /** The store, which the runner's sessions use directly. Errors: those of opening it. */
  openStore(): Promise<Store>;
}

/** Anything that a session can be kept in: a four-method storage, or a store. */
export type StorageLike = SessionStorage | Store;

const METHODS = ["save", "load", "delete", "list"] as const;

/** The store behind a storage; always the same one for the same object. Errors: `STORE_UNSUPPORTED`. */
export async function openStore(storage: StorageLike): Promise<Store> {
  if (isStore(storage)) return storage;
  if (isStoreBacked(storage)) return storage.openStore();
  if (isSessionStorage(storage)) {
    const { documentStore } = await import("./storages/document/document-store.js");
    return documentStore(storage);
  }
  const message =
    "sessionStorage must be an object with save, load, delete and list, or a store (sqlite(path), memory(), …).";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** True for a store that `openStore` made on a four-method storage. */
export function isDocumentStore(store: Store): store is DocumentStore {
  return "reload" in store;
}

function isSessionStorage(value: unknown): value is SessionStorage {
  if (typeof value !== "object" || value === null) return false;
  return METHODS.every((method) => typeof (value as Record<string, unknown>)[method] === "function");
}

/** True for a storage that keeps its sessions in a store. */
export function isStoreBacked(value: unknown): value is StoreBackedStorage {
  return isSessionStorage(value) && typeof (value as Partial<StoreBackedStorage>).openStore === "function";
}
