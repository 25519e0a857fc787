import { createRequire } from "node:module";
import { StemmaError } from "../../errors.js";
import type { SqliteClient } from "./client.js";

/** A database that was opened by its path. */
export type OpenedFile = SqliteClient & { exec(sql: string): unknown };

export interface OpenFileOptions {
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
export function encryptingEngine(): OpenDatabase {
  try {
    const Ciphers = createRequire(import.meta.url)("better-sqlite3-multiple-ciphers") as DatabaseClass;
    return opening(Ciphers, { readonly: true });
  } catch (cause) {
    const message = "A file with a key needs another engine: run `npm install better-sqlite3-multiple-ciphers`.";
    throw new StemmaError("DRIVER_MISSING", { driver: "better-sqlite3-multiple-ciphers" }, message, { cause });
  }
}

/** Looks for the engine. Errors: `DRIVER_MISSING`. */
export function findEngine(): OpenDatabase {
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
