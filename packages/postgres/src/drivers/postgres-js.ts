import type { Row, SqlValue } from "@stemma/store";
import { untyped } from "../error.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "./column-types.js";
import { SETTINGS } from "./transaction.js";

/** The part of the function of postgres.js, and of Bun's, that is used. */
export interface PostgresJsShape {
  /** Bun's names the kind of database. */
  readonly options?: { readonly adapter?: unknown };
  unsafe(
    sql: string,
    values: readonly SqlValue[],
    options: object,
  ): Promise<Row[] & { columns?: PostgresRows["columns"] }> & {
    raw(): Promise<Written[][] & { columns?: PostgresRows["columns"] }>;
    execute(): Promise<unknown>;
  };
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

// As the server wrote them: the client's own parser takes the year 1 for 2001, and a host may have others.
function writtenRows(found: Written[][] & { columns?: PostgresRows["columns"] }): PostgresRows {
  const { columns = [] } = found;
  return { rows: found.map((row) => rowOf(row, columns)), columns };
}

function rowsOfBun(rows: Row[] & { columns?: PostgresRows["columns"] }): PostgresRows {
  const { columns = [] } = rows;
  // Of several statements the answers are rows, each an array.
  if (rows.length > 0 && columns.length === 0 && !Array.isArray(rows[0])) throw untyped();
  // What Bun gives stays a result when it is mapped.
  return { rows: [...rows], columns };
}

/** The driver for postgres.js and Bun.SQL. Errors: `STORE_UNSUPPORTED` from a Bun that does not tell the types of columns. */
export function postgresJsDriver(sql: PostgresJsShape, prepare = true): PostgresDriver {
  const isBun = sql.options?.adapter !== undefined;
  // Prepared, it need not ask for the types of the values each time; a client made with `prepare: false` does not.
  const queryOn =
    (connection: PostgresJsShape): PostgresQuery =>
    async (text, values) => {
      const found = connection.unsafe(text, values, { prepare });
      return isBun ? rowsOfBun(await found) : writtenRows(await found.raw());
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
