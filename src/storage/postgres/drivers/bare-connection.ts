import type { Row, SqlValue } from "../../engine/operation.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "../driver.js";
import { alone, BEGIN_APART, inTransaction } from "./transaction.js";

/** A connection of which nothing is known but how a statement is run. */
export interface BareConnection {
  query(text: string, values: readonly SqlValue[]): PromiseLike<{ rows: Row[] } | Row[]>;
}

/** Oids of the types that readers of rows look for. */
const TIMESTAMPTZ = 1184;

/**
 * Runs statements on it. It does not tell the types of columns, and its driver may make anything of the values, so rows
 * come as JSON that the database writes: numbers and booleans are themselves, whatever the driver does with them.
 */
function bareQuery(run: BareConnection["query"]): PostgresQuery {
  return async (text, values): Promise<PostgresRows> => {
    const asJson = rowsAsJson(text);
    const result = await run(asJson ?? text, [...values]);
    const rows = Array.isArray(result) ? result : (result?.rows ?? []);
    if (asJson === null) return { rows: [], columns: [] };
    const parsed = rows.map((row) => JSON.parse(String(row[ROW])) as Row);
    const names = Object.keys(parsed[0] ?? {});
    // Every column that is named so is a time, and no other is.
    const times = names.filter((name) => /_(at|until)$/.test(name));
    return { rows: parsed, columns: times.map((name) => ({ name, type: TIMESTAMPTZ })) };
  };
}

const ROW = "stemma_row";

// Null for a statement that gives no rows.
function rowsAsJson(text: string): string | null {
  const select = `SELECT row_to_json(t)::text AS ${ROW} FROM`;
  if (/^\s*(?:SELECT|WITH)\b/i.test(text)) return `${select} (${text}) AS t`;
  return /\bRETURNING\b/i.test(text) && /^\s*(?:INSERT|UPDATE|DELETE)\b/i.test(text)
    ? `WITH t AS (${text}) ${select} t`
    : null;
}

export function bareDriver(connection: object, run: BareConnection["query"]): PostgresDriver {
  const query = bareQuery(run);
  return {
    reconnects: false,
    isPool: false,
    query: (sql, values) => alone(connection, () => query(sql, values)),
    transaction: (characteristics, work) =>
      alone(connection, () => inTransaction(query, BEGIN_APART(characteristics), work)),
  };
}
