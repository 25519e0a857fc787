// One connection to SQLite, whatever module it is of: its statements, transactions, patience and errors.
import { StemmaError } from "@stemma/model";
import type { OpenTransaction, SyncConnection, TransactionMode } from "../engine/connection.js";
import type { Row, Statement } from "../engine/operation.js";
import { missingTable, tablesMissing } from "../engine/tables.js";

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
  /** Throws when the database's file is no longer there. */
  readonly assertInPlace?: (() => void) | undefined;
  readonly waiting?: Waiting;
  /** Whether a file that is no database may be one that is encrypted. */
  readonly mayBeEncrypted?: () => boolean;
  /** Nobody else has the client, so a transaction may stay open while the event loop turns. */
  readonly isOwn?: boolean;
}

/** A connection on an open database. Statements are prepared once. */
export function connectClient(
  client: SqliteClient,
  { assertInPlace = () => {}, waiting = { patience: 0 }, isOwn = false, mayBeEncrypted }: Connecting = {},
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
      if (mode !== "read") assertInPlace();
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
        assertInPlace();
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

/** The code by which SQLite tells of a damaged file. */
const CORRUPT = 11;

/** SQLite's code for a file that was moved, where it notices: without a write-ahead log. */
const READONLY_DBMOVED = 1032;

/** SQLite says no more than "attempt to write a readonly database", of a file that is only read too. */
const READONLY_ADVICE =
  "its file, the folder that it is in, or its connection is read-only. To read it needs the right to write too, because the write-ahead log is kept beside the file. Give that right, or copy the file to another folder.";

/** The error for a database whose file is no longer the one at its path. */
export function storeReplaced(cause?: unknown): StemmaError {
  const message =
    "The database file was replaced or deleted while the store was open; what is written now would be gone. Close the store and open it again.";
  return new StemmaError("STORE_REPLACED", {}, message, { cause });
}

/** True for what is told of a file that SQLite found damaged. */
export function isDamage(error: unknown): boolean {
  if (!StemmaError.isInstance(error, "STORE_FAILED")) return false;
  const { sqlite, errcode } = error.details;
  const isCorrupt =
    typeof errcode === "number" ? (errcode & 0xff) === CORRUPT : String(sqlite).includes("SQLITE_CORRUPT");
  return isCorrupt || /\bmalformed\b|file is damaged/.test(error.message);
}

/** Runs `work`; what a SQLite module throws in it comes as `sqliteError` says. */
export function tellingErrors<T>(work: () => T, mayBeEncrypted?: () => boolean): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, undefined, mayBeEncrypted);
  }
}

/** The error that a caller sees for what a SQLite module threw, of `file`; the module's own error is its cause. */
export function sqliteError(error: unknown, file?: string, mayBeEncrypted = () => false): unknown {
  if (StemmaError.isInstance(error) || !(error instanceof Error)) return error;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  const primary = typeof errcode === "number" ? errcode & 0xff : undefined;
  const fail = (stemmaCode: ConstructorParameters<typeof StemmaError>[0], message: string) =>
    new StemmaError(stemmaCode, { sqlite: code, errcode }, message, { cause: error });
  if (isBusy(error)) {
    return fail(
      "STORE_LOCKED",
      "Another connection held the database longer than the busy timeout. Try again, or end that connection.",
    );
  }
  if (primary === 26 || /SQLITE_NOTADB|file is not a database/.test(text)) {
    if (mayBeEncrypted()) {
      return fail(
        "WRONG_KEY",
        `${file ?? "The file"} cannot be read with this key, or without one: it is encrypted with another key, or it is not encrypted, or it is no SQLite database. Nothing of it was changed; pass its own key.`,
      );
    }
    return fail("NOT_A_DATABASE", `${file ?? "The file"} is not a SQLite database. Name another file.`);
  }
  if (errcode === READONLY_DBMOVED || /SQLITE_READONLY_DBMOVED/.test(text)) return storeReplaced(error);
  if (primary === 8 || /SQLITE_READONLY|readonly database/.test(text)) {
    const what = file === undefined ? "The database" : `The database ${file}`;
    return fail("STORE_FAILED", `${what} cannot be written: ${READONLY_ADVICE}`);
  }
  if (primary === 18 || /SQLITE_TOOBIG|string or blob too big/.test(text)) {
    return fail("MESSAGE_TOO_LARGE", "The text is too large for one row of the database: shorten or split it.");
  }
  if (/not open|is closed|closed database|finalized/i.test(error.message)) {
    return fail("STORE_CLOSED", "The database of this store was closed; open a new one.");
  }
  const table = missingTable(error.message);
  if (table !== null) return tablesMissing([table], "the store is open", { cause: error });
  const where = file === undefined ? "" : ` of ${file}`;
  return fail("STORE_FAILED", `The database${where} refused: ${error.message}`);
}

/** The longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE = 2;

/** True of what a SQLite module throws where another connection holds the database. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  return /SQLITE_BUSY|SQLITE_LOCKED|database (?:table )?is locked/.test(text);
}

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
