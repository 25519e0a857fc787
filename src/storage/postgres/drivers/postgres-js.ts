import type { Row, SqlValue } from "../../engine/operation.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "../driver.js";
import { SETTINGS } from "./transaction.js";

/** What of the function of postgres.js is used. */
export interface PostgresJsShape {
  unsafe(
    sql: string,
    values: readonly SqlValue[],
    options: object,
  ): Promise<Row[] & { columns: PostgresRows["columns"] }> & { execute(): Promise<unknown> };
  begin<T>(characteristics: string, work: (sql: PostgresJsShape) => Promise<T>): Promise<T>;
}

// A prepared statement would keep the plan that it got while the tables were empty.
const PLANNED_ANEW = "set_config('plan_cache_mode', 'force_custom_plan', true)";

/** The driver for postgres.js. */
export function postgresJsDriver(sql: PostgresJsShape, prepare = true): PostgresDriver {
  // Prepared, it need not ask for the types of the values each time; a client made with `prepare: false` does not.
  const queryOn =
    (connection: PostgresJsShape): PostgresQuery =>
    async (text, values) => {
      const rows = await connection.unsafe(text, values, { prepare });
      return { rows, columns: rows.columns ?? [] };
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
