import type { Row, SqlValue } from "../engine/operation.js";

export interface PostgresRows {
  readonly rows: Row[];
  /** Each column's name and the oid of its type. */
  readonly columns: readonly { readonly name: string; readonly type: number }[];
}

/** `isFrequent` as in `Statement`. */
export type PostgresQuery = (sql: string, values: readonly SqlValue[], isFrequent?: boolean) => Promise<PostgresRows>;

/** A client of Postgres, made alike. */
export interface PostgresDriver {
  /** False when a connection that was lost stays lost. */
  readonly reconnects: boolean;
  /** Statements run at the same time, each on a connection of its own. */
  readonly isPool: boolean;
  /** A transaction by itself. */
  readonly query: PostgresQuery;
  /**
   * Runs `work` between `BEGIN <characteristics>` and COMMIT, on one connection; ROLLBACK when it rejects. Without
   * just-in-time compilation, which takes longer than our statements do, and without going through a table that has an index.
   */
  transaction<T>(characteristics: string, work: (query: PostgresQuery) => Promise<T>): Promise<T>;
}
