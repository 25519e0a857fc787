import type { Row, SqlValue } from "../../engine/operation.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "../driver.js";
import { SETTINGS } from "./transaction.js";

/** What of the function of postgres.js is used. */
export interface PostgresJsShape {
  unsafe(
    sql: string,
    values: readonly SqlValue[],
    options: object,
  ): { raw(): Promise<Written[][] & { columns: PostgresRows["columns"] }>; execute(): Promise<unknown> };
  begin<T>(characteristics: string, work: (sql: PostgresJsShape) => Promise<T>): Promise<T>;
}

// A prepared statement would keep the plan that it got while the tables were empty.
const PLANNED_ANEW = "set_config('plan_cache_mode', 'force_custom_plan', true)";

/** A value as the server wrote it. */
type Written = { toString(): string } | null;

function rowOf(values: readonly Written[], columns: PostgresRows["columns"]): Row {
  const row: Row = {};
  for (const [index, { name }] of columns.entries()) row[name] = values[index]?.toString() ?? null;
  return row;
}

/** The driver for postgres.js. */
export function postgresJsDriver(sql: PostgresJsShape, prepare = true): PostgresDriver {
  // Prepared, it need not ask for the types of the values each time; a client made with `prepare: false` does not.
  const queryOn =
    (connection: PostgresJsShape): PostgresQuery =>
    async (text, values) => {
      // As the server wrote them: its own parser takes the year 1 for 2001, and a host may have others.
      const found = await connection.unsafe(text, values, { prepare }).raw();
      const columns = found.columns ?? [];
      return { rows: found.map((row) => rowOf(row, columns)), columns };
    };
  return {
    reconnects: true,
    isPool: true,
    query: queryOn(sql),
    transaction: (characteristics, work) =>
      sql.begin(characteristics, async (connection) => {
        // Sent together with what follows, whose failure would be this one's too.
        const set = Promise.allSettled([connection.unsafe(`${SETTINGS}, ${PLANNED_ANEW}`, [], {}).execute()]);
        const result = await work(queryOn(connection));
        await set;
        return result;
      }),
  };
}
