// One connection to SQLite, whatever module it is of: its statements, transactions and patience, and the file that it is to.
import { lstatSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import type { OpenTransaction, SyncConnection, TransactionMode } from "../engine/connection.js";
import type { Row, Statement } from "../engine/operation.js";
import { isBusy, sqliteError, storeReplaced, tellingErrors } from "./error.js";

/** The interface that the SQLite modules share: better-sqlite3, node:sqlite, bun:sqlite, libsql. An open database of any of them is one. */
export interface SqliteClient {
  prepare(sql: string): SqliteStatement;
  close(): unknown;
  /** better-sqlite3, bun:sqlite and libsql: a transaction of yours is open. */
  readonly inTransaction?: boolean;
  /** node:sqlite's name for it. */
  readonly isTransaction?: boolean;
}

export interface SqliteStatement {
  /** Gives the rows, as objects. */
  all(...values: never[]): unknown;
  /** Gives `{ changes }`, the number of rows that were written. */
  run(...values: never[]): unknown;
}

/** True for an object that looks like an open SQLite database. */
export function isSqliteClient(value: unknown): value is SqliteClient {
  if (typeof value !== "object" || value === null) return false;
  const client = value as Partial<SqliteClient>;
  return typeof client.prepare === "function" && typeof client.close === "function";
}

const READS = /^\s*(?:SELECT|WITH|PRAGMA)\b/i;

type Form = "rows" | "column" | "tuples";
type Execute = (values: readonly unknown[]) => unknown;

interface PreparedStatement {
  all(...values: unknown[]): Row[];
  run(...values: unknown[]): unknown;
  /** better-sqlite3 and libsql: gives the values of the first column. */
  pluck?(): { all(...values: unknown[]): unknown[] };
  /** better-sqlite3 and libsql: gives rows as arrays. What bun:sqlite calls so is something else. */
  raw?(): { all(...values: unknown[]): unknown[][] };
  /** node:sqlite: gives integers as bigints. */
  setReadBigInts?(on: boolean): unknown;
  /** bun:sqlite: gives rows as arrays. */
  values?(...values: unknown[]): unknown[][];
}

/** How long a statement waits for other connections beyond what the client does itself, in milliseconds. */
export interface Waiting {
  patience: number;
}

interface Connecting {
  /** Throws when the database's file is no longer there: `watchFile` makes it. Null for a database that is in no file. */
  readonly assertInPlace?: (() => void) | null;
  readonly waiting?: Waiting;
  /** Whether a file that is no database may be one that is encrypted. */
  readonly mayBeEncrypted?: () => boolean;
  /** Nobody else has the client, so a transaction may stay open while the event loop turns. */
  readonly isOwn?: boolean;
}

/** A connection on an open database. Statements are prepared once. */
export function connectClient(
  client: SqliteClient,
  { assertInPlace = null, waiting = { patience: 0 }, isOwn = false, mayBeEncrypted }: Connecting = {},
): SyncConnection {
  const prepared: Record<Form, Map<string, Execute>> = { rows: new Map(), column: new Map(), tuples: new Map() };
  let depth = 0;

  const prepare = (form: Form, sql: string): Execute => {
    const execute = executorOf(client.prepare(sql) as PreparedStatement, form, sql);
    prepared[form].set(sql, execute);
    return execute;
  };

  const answer = (form: Form, sql: string, values: readonly unknown[]): unknown => {
    try {
      return (prepared[form].get(sql) ?? prepare(form, sql))(values);
    } catch (error) {
      if (waiting.patience === 0 || !isBusy(error)) throw sqliteError(error, undefined, mayBeEncrypted);
    }
    const again = () => (prepared[form].get(sql) ?? prepare(form, sql))(values);
    return tellingErrors(() => untilFree(waiting.patience, again), mayBeEncrypted);
  };

  // node:sqlite does not even say this of a database that was closed.
  const inTransaction = (): boolean | undefined => {
    try {
      return client.inTransaction ?? client.isTransaction;
    } catch (error) {
      throw sqliteError(error);
    }
  };

  const begin = (mode: TransactionMode): OpenTransaction => {
    // Inside a transaction of the host's, ours is a savepoint of it.
    const nested = depth > 0 || inTransaction() === true;
    answer("rows", nested ? "SAVEPOINT stemma" : mode === "read" ? "BEGIN" : "BEGIN IMMEDIATE", []);
    depth += 1;
    let isOver = false;
    const rollback = (): void => {
      if (isOver) return;
      depth -= 1;
      isOver = true;
      // SQLite may have rolled back by itself, as it does when the disk is full.
      if (inTransaction() === false) return;
      answer("rows", nested ? "ROLLBACK TO stemma" : "ROLLBACK", []);
      if (nested) answer("rows", "RELEASE stemma", []);
    };
    const commit = (): void => {
      answer("rows", nested ? "RELEASE stemma" : "COMMIT", []);
      depth -= 1;
      isOver = true;
      // Not before: a commit can take as long as the disk does.
      if (mode !== "read") assertInPlace?.();
    };
    // SQLite copies its log into the file in the same piece, but for a connection that is told not to.
    const commitMuch = (): (() => void) => {
      const [pages] = answer("column", "PRAGMA wal_autocheckpoint", []) as [number];
      answer("rows", "PRAGMA wal_autocheckpoint = 0", []);
      try {
        commit();
      } finally {
        answer("rows", `PRAGMA wal_autocheckpoint = ${pages}`, []);
      }
      return () => void answer("rows", "PRAGMA wal_checkpoint(PASSIVE)", []);
    };
    if (mode === "read") {
      try {
        // A read is told too: what it would give is the past.
        assertInPlace?.();
      } catch (error) {
        rollback();
        throw error;
      }
    }
    return mode === "read" ? { commit, rollback } : { commit, commitMuch, rollback };
  };

  const transaction = <T>(mode: TransactionMode, work: () => T): T => {
    const open = begin(mode);
    try {
      const result = work();
      open.commit();
      return result;
    } catch (error) {
      open.rollback();
      throw error;
    }
  };

  return {
    kind: "sync",
    query: ({ sql, values }: Statement) => answer("rows", sql, values) as Row[],
    column: ({ sql, values }: Statement) => answer("column", sql, values) as unknown[],
    tuples: ({ sql, values }: Statement) => answer("tuples", sql, values) as unknown[][],
    count: ({ sql, values }: Statement) => changesOf(answer("rows", sql, values)),
    each: ({ sql, rows = [] }: Statement) => {
      for (const values of rows) answer("rows", sql, values);
      return rows.length;
    },
    times: ({ sql, rows = [] }: Statement) => {
      for (const [index, values] of rows.entries()) if (changesOf(answer("rows", sql, values)) === 0) return index;
      return rows.length;
    },
    transaction,
    ...(isOwn ? { begin } : {}),
    close: () => {
      for (const statements of Object.values(prepared)) statements.clear();
      client.close();
    },
  };
}

const changesOf = (result: unknown) => Number((result as { changes: number | bigint }).changes);

function executorOf(statement: PreparedStatement, form: Form, sql: string): Execute {
  if (form === "column") {
    const plucked = statement.pluck?.();
    if (plucked !== undefined) return (values) => plucked.all(...values);
    return (values) => allOf(statement, values).map((row) => Object.values(row)[0]);
  }
  if (form === "tuples") {
    if (statement.values !== undefined) return (values) => statement.values?.(...values);
    const raw = statement.raw?.();
    if (raw !== undefined) return (values) => raw.all(...values);
    return (values) => allOf(statement, values).map((row) => Object.values(row));
  }
  if (READS.test(sql)) return (values) => allOf(statement, values);
  // FTS5 numbers what it notes of deletions beyond 2^53, and Node 26 refuses to give such a last row id as a number.
  statement.setReadBigInts?.(true);
  return (values) => statement.run(...values);
}

// node:sqlite refuses to give a whole number beyond 2^53, of which every other module gives the nearest number. None but a damaged
// row has one: then it is read once more.
function allOf(statement: PreparedStatement, values: readonly unknown[]): Row[] {
  try {
    return statement.all(...values);
  } catch (error) {
    if (statement.setReadBigInts === undefined || (error as { code?: unknown }).code !== "ERR_OUT_OF_RANGE")
      throw error;
  }
  statement.setReadBigInts(true);
  try {
    return statement.all(...values).map(withNumbers);
  } finally {
    statement.setReadBigInts(false);
  }
}

function withNumbers(row: Row): Row {
  const entries = Object.entries(row);
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]));
}

/** The longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE = 2;

/**
 * Tries until the database is free, for at most `patience` milliseconds, and then throws what the last try threw. The thread
 * waits, as it does in SQLite's own waiting. That sleeps for up to 100 ms between two tries, so it may miss every moment at
 * which busy writers let go; short pauses of random length meet one of the first.
 */
function untilFree<T>(patience: number, attempt: () => T): T {
  const end = performance.now() + patience;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
    }
    Atomics.wait(sleeper(), 0, 0, Math.random() * LONGEST_PAUSE);
  }
}

let cell: Int32Array | undefined;

// Nobody wakes it.
function sleeper(): Int32Array {
  cell ??= new Int32Array(new SharedArrayBuffer(4));
  return cell;
}

/**
 * Remembers which file an open database is. Renaming another one over it, or deleting it, leaves the connection with a
 * file that nobody finds again, and SQLite does not notice. What it gives throws `STORE_REPLACED` when the files that the connection
 * writes to are no longer those at their path. Null for a database without a file that can be seen.
 */
export function watchFile(client: SqliteClient): (() => void) | null {
  const path = pathOf(client);
  const file = path === null ? null : identityOf(path);
  if (path === null || file === null) return null;
  const log = `${path}-wal`;
  // There from the first write on, where the database keeps a write-ahead log, until its last connection is closed.
  let knownLog: Identity | null = null;
  let isReplaced = false;
  const assertFiles = () => {
    isReplaced ||= !isStill(path, file);
    if (knownLog !== null && !isStill(log, knownLog)) {
      isReplaced ||= keepsLog(client);
      knownLog = null;
    }
    if (isReplaced) throw storeReplaced();
    knownLog ??= identityOf(log);
  };
  // What a link leads to is in another folder, perhaps.
  return lstatSync(path).isSymbolicLink() ? assertFiles : watchFolder(dirname(path), assertFiles);
}

/** The smallest pages of SQLite, in bytes; all others are multiples of them. */
const PAGE = 512;

/** True for a file of whole pages, as an encrypted one is. It is not opened: that would end the locks of other connections. */
export function hasWholePages(path: string | null): boolean {
  const size = (path === null ? undefined : statSync(path, { throwIfNoEntry: false })?.size) ?? 0;
  return size > 0 && size % PAGE === 0;
}

interface DatabaseRow {
  readonly name: string;
  readonly file: string | null;
}

/** The file of a database, as SQLite names it; null where it has none. */
export function pathOf(client: SqliteClient): string | null {
  try {
    const rows = client.prepare("PRAGMA database_list").all() as DatabaseRow[];
    return rows.find(({ name }) => name === "main")?.file || null;
  } catch {
    // What is wrong with the database, its first use tells.
    return null;
  }
}

function keepsLog(client: SqliteClient): boolean {
  const [row] = client.prepare("PRAGMA journal_mode").all() as { journal_mode: string }[];
  return row?.journal_mode === "wal";
}

interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
  /** Both, where a double holds them exactly. Asking for such ones takes half as long, and every write asks. */
  readonly exact: { readonly device: number; readonly inode: number } | null;
}

/** Null where there is no such file. */
function identityOf(path: string): Identity | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const { dev: device, ino: inode } = stats;
  const isExact = device < Number.MAX_SAFE_INTEGER && inode < Number.MAX_SAFE_INTEGER;
  return { device, inode, exact: isExact ? { device: Number(device), inode: Number(inode) } : null };
}

/** True where a path leads to the same file as before. */
function isStill(path: string, { device, inode, exact }: Identity): boolean {
  if (exact === null) {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats?.ino === inode && stats.dev === device;
  }
  // A number beyond what a double holds is never rounded to one that it holds exactly.
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.ino === exact.inode && stats.dev === exact.device;
}

/** A change of a folder so long ago, in milliseconds, has another time than one that comes now, however coarse the clock of a file system is. */
const SETTLED = 3000;

/**
 * Calls `assertFiles`, which throws unless the files of a folder are those that they were, whenever they may be others. No file
 * is replaced, removed or moved without a change of its folder. So one look at a folder that did not change stands for a look at
 * each of its files.
 */
export function watchFolder(folder: string, assertFiles: () => void): () => void {
  // On Windows it is not documented which changes change the time of a folder.
  if (process.platform === "win32") return assertFiles;
  let known: Stats | null = null;
  let lookAgainAt = 0;
  return () => {
    const now = Date.now();
    if (known === null && now < lookAgainAt) return assertFiles();
    const seen = statSync(folder, { throwIfNoEntry: false }) ?? null;
    if (known !== null && seen !== null && isSame(seen, known)) return;
    assertFiles();
    known = seen !== null && now - seen.ctimeMs > SETTLED ? seen : null;
    lookAgainAt = now + SETTLED;
  };
}

// Nobody can set the time of the latest change back, as programs do with the other times when they restore a backup.
function isSame(a: Stats, b: Stats): boolean {
  return a.ctimeMs === b.ctimeMs && a.ino === b.ino && a.dev === b.dev;
}
