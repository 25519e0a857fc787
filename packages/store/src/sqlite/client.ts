import type { OpenTransaction, SyncConnection, TransactionMode } from "../engine/connection.js";
import type { Row, Statement } from "../engine/operation.js";
import { isBusy, sqliteError, tellingErrors, untilFree } from "./error.js";

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

  const attempt = (form: Form, sql: string, values: readonly unknown[]): unknown =>
    (prepared[form].get(sql) ?? prepare(form, sql))(values);

  const answer = (form: Form, sql: string, values: readonly unknown[]): unknown => {
    try {
      return attempt(form, sql, values);
    } catch (error) {
      if (waiting.patience === 0 || !isBusy(error)) throw sqliteError(error, undefined, mayBeEncrypted);
    }
    return tellingErrors(() => untilFree(waiting.patience, () => attempt(form, sql, values)), mayBeEncrypted);
  };

  const execute = (sql: string): unknown => answer("rows", sql, []);

  // node:sqlite does not even say this of a database that was closed.
  const inTransaction = (): boolean | undefined => tellingErrors(() => client.inTransaction ?? client.isTransaction);

  const begin = (mode: TransactionMode): OpenTransaction => {
    // Inside a transaction of the host's, ours is a savepoint of it.
    const nested = depth > 0 || inTransaction() === true;
    execute(nested ? "SAVEPOINT stemma" : mode === "read" ? "BEGIN" : "BEGIN IMMEDIATE");
    depth += 1;
    let isOver = false;
    const end = (): void => {
      depth -= 1;
      isOver = true;
    };
    const rollback = (): void => {
      if (isOver) return;
      end();
      // SQLite may have rolled back by itself, as it does when the disk is full.
      if (inTransaction() === false) return;
      execute(nested ? "ROLLBACK TO stemma" : "ROLLBACK");
      if (nested) execute("RELEASE stemma");
    };
    const commit = (): void => {
      execute(nested ? "RELEASE stemma" : "COMMIT");
      end();
      // Not before: a commit can take as long as the disk does.
      if (mode !== "read") assertInPlace();
    };
    // SQLite copies its log into the file in the same piece, but for a connection that is told not to.
    const commitMuch = (): (() => void) => {
      const [pages] = answer("column", "PRAGMA wal_autocheckpoint", []) as [number];
      execute("PRAGMA wal_autocheckpoint = 0");
      try {
        commit();
      } finally {
        execute(`PRAGMA wal_autocheckpoint = ${pages}`);
      }
      return () => void execute("PRAGMA wal_checkpoint(PASSIVE)");
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
      const unwritten = rows.findIndex((values) => changesOf(answer("rows", sql, values)) === 0);
      return unwritten === -1 ? rows.length : unwritten;
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
