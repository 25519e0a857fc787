import { check, defineOptions, invalid, type OptionTable } from "@stemma/model";
import type { SqliteClient, SqliteOptions } from "@stemma/store/sqlite";
import type { StorageLike } from "../open-store.js";
import type { SessionStorage } from "../types.js";
import { FileSessionStorage } from "./file-storage.js";
import { MemorySessionStorage } from "./memory-storage.js";
import { REDIS, type RedisClient, RedisSessionStorage, type RedisStorageOptions } from "./redis-storage.js";
import { StoreSessionStorage } from "./store-session-storage.js";

/** The options of each kind of storage. */
export interface StorageOptions {
  memory: Record<string, never>;
  file: { directory: string };
  sqlite: { path: string };
  redis: RedisStorageOptions & ({ client: RedisClient } | { url: string });
}

interface Factory<K extends keyof StorageOptions> {
  readonly options: OptionTable<StorageOptions[K]>;
  /** Of these options one must be given. */
  readonly needs: readonly string[];
  make(options: StorageOptions[K]): SessionStorage;
}

const redis = { ...REDIS.checks, client: check.anything, url: check.text };
const FACTORIES: { [K in keyof StorageOptions]: Factory<K> } = {
  memory: { options: defineOptions({}), needs: [], make: () => new MemorySessionStorage() },
  file: {
    options: defineOptions({ directory: check.text }),
    needs: ["directory"],
    make: ({ directory }) => new FileSessionStorage(directory),
  },
  sqlite: {
    options: defineOptions({ path: check.text }),
    needs: ["path"],
    make: ({ path }) => new SqliteSessionStorage(path),
  },
  redis: {
    options: defineOptions<StorageOptions["redis"]>(redis),
    needs: ["client", "url"],
    make: ({ prefix, ttlSeconds, ...where }) =>
      new RedisSessionStorage("client" in where ? where.client : where.url, { prefix, ttlSeconds }),
  },
};

/**
 * Makes one of the storages that ship, by its name. Errors: `INVALID_ARGUMENT` for an unknown name or a missing option,
 * `STORE_UNSUPPORTED` for a `client` that is none of Redis.
 */
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
  const factory: Factory<K> = FACTORIES[type];
  const { needs } = factory;
  const named = (options ?? {}) as Readonly<Record<string, unknown>>;
  if (needs.length > 0 && !needs.some((name) => named[name] !== undefined)) {
    const wanted = needs.map((name) => `{ ${name} }`).join(" or ");
    throw invalid(`createSessionStorage("${type}", …) needs ${wanted}.`, { type });
  }
  factory.options.assert(named, `createSessionStorage("${type}", …)`);
  return factory.make(named as unknown as StorageOptions[K]);
}

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

/**
 * Keeps sessions in a SQLite file, message by message: a turn writes only what is new. It uses the same tables as
 * `sqlite(path)`, so each reads what the other wrote.
 */
export class SqliteSessionStorage extends StoreSessionStorage {
  /** Takes a path or a database that you opened. It is used first at the first call; errors as for `sqlite()` then. */
  constructor(source: string | SqliteClient, options: SqliteOptions = {}) {
    super(async () => {
      const { sqlite } = await import("@stemma/store/sqlite");
      return sqlite(source, options);
    });
  }
}
