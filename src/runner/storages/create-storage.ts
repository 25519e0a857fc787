import { invalid } from "../../errors.js";
import type { SessionStorage } from "../types.js";
import { FileSessionStorage } from "./file-storage.js";
import { MemorySessionStorage } from "./memory-storage.js";
import type { RedisClient } from "./redis-client.js";
import { RedisSessionStorage, type RedisStorageOptions } from "./redis-storage.js";
import { SqliteSessionStorage } from "./sqlite-storage.js";

/** What each kind of storage is made of. */
export interface StorageOptions {
  memory: Record<string, never>;
  file: { directory: string };
  sqlite: { path: string };
  redis: RedisStorageOptions & ({ client: RedisClient } | { url: string });
}

const FACTORIES: { [K in keyof StorageOptions]: (options: StorageOptions[K]) => SessionStorage } = {
  memory: () => new MemorySessionStorage(),
  file: ({ directory }) => new FileSessionStorage(directory),
  sqlite: ({ path }) => new SqliteSessionStorage(path),
  redis: ({ prefix, ttlSeconds, ...where }) =>
    new RedisSessionStorage("client" in where ? where.client : where.url, { prefix, ttlSeconds }),
};

/** Makes one of the storages that ship, by its name. Errors: `INVALID_ARGUMENT`. */
export function createSessionStorage(type: "memory"): SessionStorage;
export function createSessionStorage<K extends keyof StorageOptions>(
  type: K,
  options: StorageOptions[K],
): SessionStorage;
export function createSessionStorage<K extends keyof StorageOptions>(
  type: K,
  options?: StorageOptions[K],
): SessionStorage {
  if (!Object.hasOwn(FACTORIES, type)) {
    throw invalid(`There is no storage "${type}"; there are ${Object.keys(FACTORIES).join(", ")}.`, { type });
  }
  return FACTORIES[type]((options ?? {}) as StorageOptions[K]);
}
