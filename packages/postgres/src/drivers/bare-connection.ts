import { once } from "@stemma/model";
import type { Row, SqlValue } from "@stemma/store";
import { apart } from "../error.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "./column-types.js";
import { isoText } from "./column-types.js";
import { alone, BEGIN_APART, inTransaction, isInTransaction, SAVEPOINT } from "./transaction.js";

/** A connection of which nothing is known but how a statement is run. */
export interface BareConnection {
  query(text: string, values: readonly SqlValue[]): PromiseLike<{ rows: Row[] } | Row[]>;
}

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
    // Every text that is named so is a time, or should be one.
    const times = Object.keys(parsed[0] ?? {}).filter((name) => /_(at|until)$/.test(name));
    for (const row of parsed) for (const name of times) row[name] = isoText(row[name]);
    return { rows: parsed, columns: [] };
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

/** The driver for what is known to be a transaction of the host's: each call is a savepoint of it. */
export function nestedDriver(connection: object, run: BareConnection["query"]): PostgresDriver {
  const query = bareQuery(run);
  const transaction: PostgresDriver["transaction"] = (_characteristics, work) =>
    alone(connection, () => inTransaction(query, SAVEPOINT, work));
  return {
    reconnects: false,
    isPool: false,
    query: (sql, values) => transaction("", () => query(sql, values)),
    transaction,
  };
}

/**
 * The driver for it. Inside a transaction of the host's, ours is a savepoint of it. A statement alone is none: to ask whether there is
 * a transaction would take two more. Errors: `STORE_UNSUPPORTED` from the first transaction where each statement is one by itself.
 */
export function bareDriver(connection: object, run: BareConnection["query"]): PostgresDriver {
  const query = bareQuery(run);
  const assertHolds = once(async () => {
    if (!(await isInTransaction(query))) throw apart();
  });
  return {
    reconnects: false,
    isPool: false,
    query: (sql, values) => alone(connection, () => query(sql, values)),
    transaction: (characteristics, work) =>
      alone(connection, async () => {
        if (await isInTransaction(query)) return inTransaction(query, SAVEPOINT, work);
        return inTransaction(query, BEGIN_APART(characteristics), async () => {
          await assertHolds();
          return work(query);
        });
      }),
  };
}
