import type { SqlValue } from "../../engine/operation.js";
import type { PostgresDriver, PostgresQuery } from "../driver.js";
import { type FieldsResult, fromFields } from "./pg.js";

/** What of a PGlite database is used. */
export interface PGliteShape {
  query(sql: string, values: readonly SqlValue[]): Promise<FieldsResult>;
  transaction<T>(work: (connection: Pick<PGliteShape, "query">) => Promise<T>): Promise<T>;
}

/** The driver for a PGlite database. */
export function pgliteDriver(database: PGliteShape): PostgresDriver {
  const queryOn =
    (connection: Pick<PGliteShape, "query">): PostgresQuery =>
    async (sql, values) =>
      fromFields(await connection.query(sql, values));
  return {
    reconnects: false,
    isPool: false,
    query: queryOn(database),
    // Its only connection runs one transaction at a time, so that there is nothing to isolate.
    transaction: (_characteristics, work) => database.transaction((connection) => work(queryOn(connection))),
  };
}
