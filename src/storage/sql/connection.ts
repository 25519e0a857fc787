import type { Row, Statement } from "./operation.js";

/** `write` excludes every other writer of the database from its first statement on; `read` sees one state throughout. */
export type TransactionMode = "read" | "write";

/** An engine that answers at once: SQLite in process, a Durable Object. */
export interface SyncConnection {
  readonly kind: "sync";
  query(statement: Statement): Row[];
  /** The values of the only column, where the engine has a faster way to them than through rows. */
  column?(statement: Statement): unknown[];
  /** Runs `work` in one transaction, rolled back when it throws. */
  transaction<T>(mode: TransactionMode, work: () => T): T;
  close(): void;
}

/** An engine behind a wire. */
export interface AsyncConnection {
  readonly kind: "async";
  query(statement: Statement): Promise<Row[]>;
  /** Runs `work` in one transaction on one connection, rolled back when it rejects. */
  transaction<T>(
    mode: TransactionMode,
    work: (query: (statement: Statement) => Promise<Row[]>) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

export type Connection = SyncConnection | AsyncConnection;
