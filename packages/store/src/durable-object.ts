import { check, defineOptions, queueOf, StemmaError } from "@stemma/model";
import { checkable } from "./check/store-check.js";
import { checkSearch, type SearchSettings } from "./contract/found.js";
import type { RedactFunction } from "./contract/store.js";
import type { EmbeddableStore } from "./embeddings/contract.js";
import { embeddable } from "./embeddings/embed-store.js";
import type { SyncConnection } from "./engine/connection.js";
import type { Row } from "./engine/operation.js";
import { redactedWith } from "./redact/redact-store.js";
import { openSqlStore } from "./sql/sql-store.js";
import { sqliteCheck } from "./sqlite/check.js";
import { sqliteDialect } from "./sqlite/dialect.js";
import { tellingErrors } from "./sqlite/error.js";
import { MAX_TEXT_BYTES } from "./sqlite/host-sql.js";
import { isPrepared } from "./sqlite/schema.js";
import { scrubObject } from "./sqlite/scrub.js";
import { sqliteVectors } from "./sqlite/sqlite-vectors.js";

/** The part of a Durable Object's `ctx` that is used. A `DurableObjectState` is one. */
export interface DurableObjectContext {
  readonly storage: DurableObjectSqlStorage;
  waitUntil?(work: Promise<unknown>): void;
}

export interface DurableObjectSqlStorage {
  readonly sql: {
    readonly databaseSize: number;
    exec(query: string, ...values: (string | number | null | Uint8Array)[]): DurableObjectCursor;
  };
  transactionSync<T>(work: () => T): T;
}

export interface DurableObjectCursor {
  toArray(): object[];
  raw(): Iterable<unknown[]>;
}

export interface DurableObjectOptions {
  /**
   * Index messages for search, and what of them. Default true: their texts. With false, an append writes two rows instead of three,
   * and `search()` fails.
   */
  search?: boolean | SearchSettings;
  /** Called on each text before it is stored, indexed or embedded: what it gives is stored instead. Default: none. */
  redact?: RedactFunction | undefined;
}

const OPTIONS = defineOptions<DurableObjectOptions>({ search: checkSearch, redact: check.callable });

/**
 * A store in the database of a Durable Object: `durableObject(this.ctx)`. Each write is one `transactionSync`. What a call
 * wrote is durable before the runtime sends anything that the object sends afterwards. `close()` ends this store, but does
 * not close the object's database. Errors: `STORE_UNSUPPORTED` for an object that is not backed by SQLite; at the first use
 * `DATABASE_TOO_NEW`.
 * @example
 * // In the constructor of a class that extends DurableObject:
 * const manager = SessionManager.create(durableObject(ctx));
 */
export function durableObject(ctx: DurableObjectContext, options: DurableObjectOptions = {}): EmbeddableStore {
  OPTIONS.assert(options, "durableObject()");
  const dialect = sqliteDialect({
    name: "durable-object",
    maxTextBytes: MAX_TEXT_BYTES,
    search: options.search ?? true,
  });
  const connection = connect(storageOf(ctx));
  const open = openSqlStore(connection, dialect, {
    transactions: true,
    durable: true,
    isPrepared: () => isPrepared(dialect, connection),
    order: queueOf(ctx),
    scrub: scrubObject,
  });
  const store = embeddable(
    checkable(open, sqliteCheck({ schema: "main", integrity: false })),
    { ...sqliteVectors, findSimilarity: null },
    {
      // No one else writes to an object's database.
      interval: null,
      waitUntil: ctx.waitUntil?.bind(ctx),
    },
  );
  return redactedWith(store, options.redact);
}

function connect(storage: DurableObjectSqlStorage): SyncConnection {
  const { sql } = storage;
  return {
    kind: "sync",
    query: (statement) => tellingErrors(() => sql.exec(statement.sql, ...statement.values).toArray() as Row[]),
    column: (statement) =>
      tellingErrors(() => Array.from(sql.exec(statement.sql, ...statement.values).raw(), ([value]) => value)),
    // RETURNING would count as a row read, and the cursor's own count takes in the rows of indexes.
    count: (statement) =>
      tellingErrors(() => {
        sql.exec(statement.sql, ...statement.values).toArray();
        return Number([...sql.exec("SELECT changes()").raw()][0]?.[0]);
      }),
    // Nothing else runs in an object while a call does not await, so a read needs no transaction.
    transaction: (mode, work) => (mode === "read" ? work() : storage.transactionSync(work)),
    close: () => {},
  };
}

function storageOf(ctx: DurableObjectContext): DurableObjectSqlStorage {
  let cause: unknown;
  try {
    const { storage } = ctx;
    if (typeof storage.sql.databaseSize === "number" && typeof storage.transactionSync === "function") return storage;
  } catch (error) {
    // The runtime throws when an object that is kept in the older key-value storage is asked for the size.
    cause = error;
  }
  const message =
    "durableObject() takes the ctx of a Durable Object that is backed by SQLite: name its class in new_sqlite_classes of a migration in the Wrangler configuration.";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message, { cause });
}
