import type { SqlValue } from "@stemma/store";
import type { PostgresDriver, PostgresQuery } from "./column-types.js";
import { type FieldsResult, fromFields } from "./pg.js";

/** The part of a PGlite database that is used. */
export interface PGliteShape {
  query(sql: string, values: readonly SqlValue[], options?: object): Promise<FieldsResult>;
  transaction<T>(work: (connection: Pick<PGliteShape, "query">) => Promise<T>): Promise<T>;
}

// Its own parser takes the year 1 for 2001.
const AS_WRITTEN = { parsers: { 1184: (text: string) => text } };

/** The driver for a PGlite database. */
export function pgliteDriver(database: PGliteShape): PostgresDriver {
  const queryOn =
    (connection: Pick<PGliteShape, "query">): PostgresQuery =>
    async (sql, values) =>
      fromFields(await connection.query(sql, values, AS_WRITTEN));
  return {
    reconnects: false,
    isPool: false,
    query: queryOn(database),
    // Its only connection runs one transaction at a time, so that there is nothing to isolate.
    transaction: (_characteristics, work) => database.transaction((connection) => work(queryOn(connection))),
  };
}
