import { StemmaError } from "../../errors.js";
import type { SyncConnection, TransactionMode } from "./connection.js";
import type { Row, Statement } from "./operation.js";

/**
 * What the SQLite modules have in common: better-sqlite3, node:sqlite, bun:sqlite, libsql. An open database of any of them is one.
 */
export interface SqliteClient {
  prepare(sql: string): SqliteStatement;
  close(): unknown;
  /** better-sqlite3, bun:sqlite and libsql: a transaction of yours is open. */
  readonly inTransaction?: boolean;
  /** node:sqlite's name for it. */
  readonly isTransaction?: boolean;
}

export interface SqliteStatement {
  all(...values: never[]): unknown;
  run(...values: never[]): unknown;
}

/** True for an object that looks like an open SQLite database. */
export function isSqliteClient(value: unknown): value is SqliteClient {
  if (typeof value !== "object" || value === null) return false;
  const client = value as Partial<SqliteClient>;
  return typeof client.prepare === "function" && typeof client.close === "function";
}

const READS = /^\s*(?:SELECT|WITH|PRAGMA)\b/i;

type Execute = (values: readonly unknown[]) => unknown;

interface PreparedStatement {
  all(...values: unknown[]): Row[];
  run(...values: unknown[]): unknown;
  /** better-sqlite3 and libsql: gives the values of the first column. */
  pluck?(): { all(...values: unknown[]): unknown[] };
}

/** A connection on an open database. Statements are prepared once. */
export function connectClient(client: SqliteClient): SyncConnection {
  const prepared = new Map<string, Execute>();
  const columns = new Map<string, Execute>();
  let depth = 0;

  const prepare = (sql: string): Execute => {
    const statement = client.prepare(sql) as PreparedStatement;
    const execute: Execute = READS.test(sql)
      ? (values) => statement.all(...values)
      : (values) => statement.run(...values);
    prepared.set(sql, execute);
    return execute;
  };

  const prepareColumn = (sql: string): Execute => {
    const statement = client.prepare(sql) as PreparedStatement;
    const plucked = statement.pluck?.();
    const execute: Execute = plucked
      ? (values) => plucked.all(...values)
      : (values) => statement.all(...values).map((row) => Object.values(row)[0]);
    columns.set(sql, execute);
    return execute;
  };

  const attempt = (execute: () => unknown): unknown => {
    try {
      return execute();
    } catch (error) {
      throw sqliteError(error);
    }
  };

  const execute = (sql: string, values: readonly unknown[]): unknown =>
    attempt(() => (prepared.get(sql) ?? prepare(sql))(values));

  const transaction = <T>(mode: TransactionMode, work: () => T): T => {
    // Inside a transaction of the host's, ours is a savepoint of it.
    const nested = depth > 0 || client.inTransaction === true || client.isTransaction === true;
    execute(nested ? "SAVEPOINT stemma" : mode === "read" ? "BEGIN" : "BEGIN IMMEDIATE", []);
    depth += 1;
    try {
      const result = work();
      execute(nested ? "RELEASE stemma" : "COMMIT", []);
      return result;
    } catch (error) {
      rollback(nested);
      throw error;
    } finally {
      depth -= 1;
    }
  };

  const rollback = (nested: boolean): void => {
    // SQLite may have rolled back by itself, as it does when the disk is full.
    const open = client.inTransaction ?? client.isTransaction ?? true;
    if (!open) return;
    execute(nested ? "ROLLBACK TO stemma" : "ROLLBACK", []);
    if (nested) execute("RELEASE stemma", []);
  };

  return {
    kind: "sync",
    query: ({ sql, values }: Statement) => execute(sql, values) as Row[],
    column: ({ sql, values }: Statement) =>
      attempt(() => (columns.get(sql) ?? prepareColumn(sql))(values)) as unknown[],
    transaction,
    close: () => {
      prepared.clear();
      columns.clear();
      client.close();
    },
  };
}

/** The error that a caller sees for what a SQLite module threw; the module's own error is its cause. */
export function sqliteError(error: unknown): unknown {
  if (StemmaError.isInstance(error) || !(error instanceof Error)) return error;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  const primary = typeof errcode === "number" ? errcode & 0xff : undefined;
  const fail = (stemmaCode: ConstructorParameters<typeof StemmaError>[0], message: string) =>
    new StemmaError(stemmaCode, { sqlite: code, errcode }, message, { cause: error });
  if (primary === 5 || primary === 6 || /SQLITE_BUSY|SQLITE_LOCKED|database (?:table )?is locked/.test(text)) {
    return fail(
      "STORE_LOCKED",
      "Another connection held the database longer than the busy timeout. Try again, or end that connection.",
    );
  }
  if (primary === 26 || /SQLITE_NOTADB|file is not a database/.test(text)) {
    return fail("NOT_A_DATABASE", "The file is not a SQLite database. Name another file.");
  }
  if (primary === 18 || /SQLITE_TOOBIG|string or blob too big/.test(text)) {
    return fail("MESSAGE_TOO_LARGE", "The text is larger than the database can hold in one place.");
  }
  if (/not open|is closed|closed database|finalized/i.test(error.message)) {
    return fail("STORE_CLOSED", "The database of this store was closed; open a new one.");
  }
  return fail("STORE_FAILED", `The database refused: ${error.message}`);
}
