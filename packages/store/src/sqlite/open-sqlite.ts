import { closeSync, existsSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { check, defineOptions, kindOf, Queue, queueOf, reasonOf, StemmaError } from "@stemma/model";
import { checkable } from "../check/store-check.js";
import { checkSearch, type SearchSettings } from "../contract/found.js";
import type { RedactFunction } from "../contract/store.js";
import type { EmbeddableStore } from "../embeddings/contract.js";
import { embeddable } from "../embeddings/embed-store.js";
import { type Lane, ownLane } from "../engine/runner.js";
import { redactedWith } from "../redact/redact-store.js";
import { openSqlStore, type SqlStoreOptions } from "../sql/sql-store.js";
import { sqliteCheck } from "./check.js";
import { connectClient, hasWholePages, isSqliteClient, pathOf, type SqliteClient, watchFile } from "./client.js";
import { sqliteDialect } from "./dialect.js";
import { sqliteError } from "./error.js";
import { isPrepared } from "./schema.js";
import { sqliteVectors } from "./sqlite-vectors.js";
export interface SqliteOptions {
  /**
   * When a write is on the disk. `full` (the default): before the call resolves, so that it survives a power cut. `normal`: at
   * the next checkpoint, so a power cut may lose the last writes, but a crash of the process does not.
   */
  synchronous?: "full" | "normal";
  /** How long a write waits for another process, in milliseconds. Default 5,000. */
  busyTimeout?: number;
  /**
   * Index messages for search, and what of them. Default true: their texts. With false, an append is cheaper and `search()` fails with
   * `SEARCH_UNAVAILABLE`.
   */
  search?: boolean | SearchSettings | undefined;
  /**
   * Encrypts the file, its log and its backups; needs `better-sqlite3-multiple-ciphers`. A database that you opened is
   * encrypted where you set its key: then this is the same key, with which a backup is checked. Default: not encrypted.
   */
  key?: string | undefined;
  /** Called on each text before it is stored, indexed or embedded: what it gives is stored instead. Default: none. */
  redact?: RedactFunction | undefined;
}

const OPTIONS = defineOptions<SqliteOptions>({
  synchronous: check.oneOf("full", "normal"),
  busyTimeout: check.whole(0),
  search: checkSearch,
  key: check.rule("a text that is not empty", (key) => typeof key === "string" && key !== "" && !key.includes("\0")),
  redact: check.callable,
});

/** Bytes that SQLite takes in one column, less room for the rest of the row. */
const MAX_TEXT_BYTES = 900_000_000;

/** The source of a SQLite store: a path, an open database, or an object that holds one, as a database of Drizzle does. */
export type SqliteSource = string | SqliteClient | { readonly $client: SqliteClient };

const opened = (source: Exclude<SqliteSource, string>) => ({
  client: (source as Partial<{ $client: SqliteClient }> | null)?.$client ?? (source as SqliteClient),
  patience: 0,
});

/** Opens a store as `sqlite` does. Its errors and traces call the store by this name. */
export function openSqlite(name: string, source: SqliteSource, options: SqliteOptions): EmbeddableStore {
  OPTIONS.assert(options, "sqlite()");
  const { key } = options;
  const { client, patience } = typeof source === "string" ? openFile(source, options) : opened(source);
  if (!isSqliteClient(client)) {
    const message = `sqlite() takes a path, or an open database of better-sqlite3, node:sqlite, bun:sqlite or libsql, or a database of Drizzle on one of them; got ${kindOf(client)}.`;
    throw new StemmaError("STORE_UNSUPPORTED", {}, message);
  }
  const dialect = sqliteDialect({
    name,
    maxTextBytes: MAX_TEXT_BYTES,
    search: options.search ?? true,
    indexesLater: true,
  });
  const durable = source !== ":memory:";
  const waiting = { patience };
  const connection = connectClient(client, {
    assertInPlace: watchFile(client),
    waiting,
    isOwn: typeof source === "string",
    mayBeEncrypted: () => hasWholePages(pathOf(client)),
  });
  const opening: SqlStoreOptions = {
    transactions: true,
    durable,
    isPrepared: () => isPrepared(dialect, connection),
    // Not in a transaction that the program began, into which others would write.
    mayPause: () => !isInTransaction(client),
    lane: laneOf(client),
    order: queueOf(client),
    backup: async (runner, path, request) =>
      (await import("./backup.js")).backupFile(runner, path, request, (copy) =>
        openSqlite("sqlite", copy, { search: options.search, key }),
      ),
    scrub: async (...call) => (await import("./scrub.js")).scrubFile(waiting, ...call),
  };
  const check = sqliteCheck({ schema: "temp", integrity: true });
  const store = embeddable(checkable(openSqlStore(connection, dialect, opening), check), sqliteVectors);
  return redactedWith(store, options.redact);
}

// Who waits for another connection of this process keeps that one from going on.
const files = new Queue();

function laneOf(client: SqliteClient): Lane {
  const key = pathOf(client);
  return key === null ? ownLane() : { queue: files, key };
}

function openFile(path: string, options: SqliteOptions): { client: SqliteClient; patience: number } {
  const { synchronous = "full", busyTimeout = 5000, key } = options;
  if (key === undefined) findEngine();
  else encryptingEngine();
  try {
    // Before SQLite does: conversations are private, and its other files take this one's mode. Only where it is not there
    // yet: to open and close a file ends the locks that other connections of this process hold on it.
    if (path !== ":memory:" && !existsSync(path)) closeSync(openSync(path, "a", 0o600));
  } catch (cause) {
    const why = reasonOf(cause);
    throw new StemmaError("STORE_FAILED", { path }, `The database file cannot be opened: ${why}`, { cause });
  }
  let client: OpenedFile | undefined;
  try {
    client = openWith(path, { key });
    for (const pragma of [
      `busy_timeout = ${busyTimeout}`,
      "journal_mode = WAL",
      `synchronous = ${synchronous.toUpperCase()}`,
      // From here on the connection waits, which meets a free moment sooner.
      "busy_timeout = 0",
    ]) {
      client.exec(`PRAGMA ${pragma}`);
    }
    return { client, patience: busyTimeout };
  } catch (error) {
    // Left open it would hold a lock on the file, on which even a backup put in its place would wait.
    client?.close();
    throw sqliteError(error, `"${path}"`, () => hasWholePages(path));
  }
}

// A module may refuse to tell of a database that its program closed.
function isInTransaction(client: SqliteClient): boolean {
  try {
    return (client.inTransaction ?? client.isTransaction) === true;
  } catch {
    return false;
  }
}

/** A database that was opened by its path. */
export type OpenedFile = SqliteClient & { exec(sql: string): unknown };

interface OpenFileOptions {
  /** The key of a file that is encrypted. */
  readonly key?: string | undefined;
  /** Writes nothing to the file. Default false. */
  readonly isReadOnly?: boolean;
}

type OpenDatabase = (path: string, isReadOnly: boolean) => OpenedFile;
type DatabaseClass = new (path: string, options?: object) => OpenedFile;

// To look for it takes a sixth of the time in which a store is opened and read.
let engine: OpenDatabase | undefined;

/** Opens a file with the first engine that this runtime has. Errors: `DRIVER_MISSING`, and those of the engine. */
export function openWith(path: string, { isReadOnly = false, key }: OpenFileOptions = {}): OpenedFile {
  if (key === undefined) return findEngine()(path, isReadOnly);
  const client = encryptingEngine()(path, isReadOnly);
  client.exec(`PRAGMA key = '${key.replaceAll("'", "''")}'`);
  // What SQLite keeps for a moment in files of its own would not be encrypted.
  client.exec("PRAGMA temp_store = MEMORY");
  return client;
}

/** Looks for the engine that encrypts. Errors: `DRIVER_MISSING`. */
function encryptingEngine(): OpenDatabase {
  try {
    const Ciphers = createRequire(import.meta.url)("better-sqlite3-multiple-ciphers") as DatabaseClass;
    return opening(Ciphers, { readonly: true });
  } catch (cause) {
    const message = "A file with a key needs another engine: run `npm install better-sqlite3-multiple-ciphers`.";
    throw new StemmaError("DRIVER_MISSING", { driver: "better-sqlite3-multiple-ciphers" }, message, { cause });
  }
}

/** Looks for the engine. Errors: `DRIVER_MISSING`. */
function findEngine(): OpenDatabase {
  engine ??= firstEngine();
  return engine;
}

function firstEngine(): OpenDatabase {
  const load = createRequire(import.meta.url);
  if ("Bun" in globalThis) {
    const { Database } = load("bun:sqlite") as { Database: DatabaseClass };
    return opening(Database, { readonly: true });
  }
  const failures: unknown[] = [];
  try {
    const BetterSqlite = load("better-sqlite3") as DatabaseClass;
    // The native part loads with the first database.
    new BetterSqlite(":memory:").close();
    return opening(BetterSqlite, { readonly: true });
  } catch (error) {
    failures.push(error);
  }
  try {
    const { DatabaseSync } = load("node:sqlite") as { DatabaseSync: DatabaseClass };
    return opening(DatabaseSync, { readOnly: true });
  } catch (error) {
    failures.push(error);
  }
  const message = "No SQLite engine: run `npm install better-sqlite3`, or use Node 22.13 or later, which has one.";
  throw new StemmaError("DRIVER_MISSING", { node: process.version }, message, { cause: new AggregateError(failures) });
}

function opening(Database: DatabaseClass, readOnly: object): OpenDatabase {
  return (path, isReadOnly) => (isReadOnly ? new Database(path, readOnly) : new Database(path));
}
