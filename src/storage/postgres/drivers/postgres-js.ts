import type { Row, SqlValue } from "../../engine/operation.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "../driver.js";
import { untyped } from "../unsupported.js";
import { SETTINGS } from "./transaction.js";

/** What of the function of postgres.js is used, and of Bun's. */
export interface PostgresJsShape {
  unsafe(
    sql: string,
    values: readonly SqlValue[],
    options: object,
  ): Promise<Row[] & { columns?: PostgresRows["columns"] }> & { execute(): Promise<unknown> };
  begin<T>(characteristics: string, work: (sql: PostgresJsShape) => Promise<T>): Promise<T>;
}

// A prepared statement would keep the plan that it got while the tables were empty.
const PLANNED_ANEW = "set_config('plan_cache_mode', 'force_custom_plan', true)";

/** The driver for postgres.js and Bun.SQL. Errors: `STORE_UNSUPPORTED` from a Bun that does not tell the types of columns. */
export function postgresJsDriver(sql: PostgresJsShape, prepare = true): PostgresDriver {
  // Prepared, it need not ask for the types of the values each time; a client made with `prepare: false` does not.
  const queryOn =
    (connection: PostgresJsShape): PostgresQuery =>
    async (text, values) => {
      const rows = await connection.unsafe(text, values, { prepare });
      const { columns = [] } = rows;
      // Of several statements the answers are rows, each an array.
      if (rows.length > 0 && columns.length === 0 && !Array.isArray(rows[0])) throw untyped();
      // What Bun gives stays a result when it is mapped.
      return { rows: [...rows], columns };
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
