import type { Row, Statement } from "./operation.js";

/**
 * `read` sees one state throughout; `write` sees what other writers committed before it locked what it writes.
 * `idempotent` is a write that changes nothing when it is run once more: it may be, when no one knows whether it was
 * committed.
 */
export type TransactionMode = "read" | "write" | "idempotent";

/** An engine that answers at once: SQLite in process, a Durable Object. */
export interface SyncConnection {
  readonly kind: "sync";
  query(statement: Statement): Row[];
  /** The values of the only column, where the engine has a faster way to them than through rows. */
  column?(statement: Statement): unknown[];
  /** The rows as arrays of their values, where the engine has a faster way to them than through objects. */
  tuples?(statement: Statement): unknown[][];
  /** How many rows a statement wrote, where the engine tells without RETURNING. */
  count?(statement: Statement): number;
  /** Runs a statement with each of its `rows`, where that is faster than one by one. Gives how many these are. */
  each?(statement: Statement): number;
  /** How many of its `rows` a statement wrote, up to the first that it did not write, where that is faster than one by one. */
  times?(statement: Statement): number;
  /** Runs `work` in one transaction, rolled back when it throws. */
  transaction<T>(mode: TransactionMode, work: () => T): T;
  /** Begins a transaction that may stay open while the event loop turns. Missing where the program may use the connection then. */
  begin?(mode: TransactionMode): OpenTransaction;
  close(): void;
}

export interface OpenTransaction {
  commit(): void;
  /**
   * Commits what may be much, and gives what is left to do after that, in a turn of its own: nothing depends on it. Missing where
   * nothing was written.
   */
  commitMuch?(): () => void;
  /** Does nothing after a commit. */
  rollback(): void;
}

/** An engine behind a wire. */
export interface AsyncConnection {
  readonly kind: "async";
  /** Runs a statement that is a transaction by itself, and may be run again when no one knows whether it was committed. */
  query(statement: Statement): Promise<Row[]>;
  /** Runs `work` in one transaction on one connection, rolled back when it rejects; anew where that can help. */
  transaction<T>(
    mode: TransactionMode,
    work: (query: (statement: Statement) => Promise<Row[]>) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

export type Connection = SyncConnection | AsyncConnection;
