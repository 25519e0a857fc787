import { keyOf, type RowAddress } from "../../../model/rank.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Condition, type Operation } from "../../engine/operation.js";

/**
 * Begins a condition on rows of the session that is given, or of that which the address `s` names. What it binds comes behind
 * the addresses.
 */
export function inSession({ namesSessions }: Dialect, row: string, sessionId: string | null | undefined): Condition {
  if (!namesSessions) return { condition: "", values: [] };
  if (typeof sessionId === "string") return { condition: `${row}.session_id = ? AND `, values: [sessionId] };
  return { condition: `${row}.session_id = s.owner AND `, values: [] };
}

/** Rows of messages by what tells each from all others, all of one session where it is given; `columns` are those of `m`. */
export function* findRows<R extends { readonly n: number; readonly session_id: string }>(
  sql: Dialect,
  addresses: readonly RowAddress[],
  columns: string,
  sessionId: string | null | undefined,
): Operation<Map<number | string, R>> {
  if (addresses.length === 0) return new Map();
  const { condition, values } = inSession(sql, "m", sessionId);
  // Spread rows are joined with: a server looks for each address among its own.
  const rows = sql.isSpread
    ? `JOIN assistant_messages m ON ${condition}m.n = s.lo`
    : sql.namesSessions
      ? `CROSS JOIN LATERAL (SELECT m.* FROM assistant_messages m WHERE ${condition}m.n = s.lo OFFSET 0) AS m`
      : "CROSS JOIN assistant_messages m WHERE m.n = s.lo";
  const found = yield* all<R>(
    `SELECT ${columns} FROM ${sql.segmentTable} AS s ${rows}`,
    JSON.stringify(
      addresses.map(({ n: rowId, sessionId: id }) => (id === undefined ? [0, rowId, rowId] : [0, rowId, rowId, id])),
    ),
    ...values,
  );
  return new Map(found.map((row) => [rowKey(sql, row), row]));
}

/** What `keyOf` gives of the address of a row. */
export function rowKey(
  { namesSessions }: Dialect,
  { n: rowId, session_id }: { readonly n: number; readonly session_id: string },
): number | string {
  return namesSessions ? keyOf({ n: rowId, sessionId: session_id }) : rowId;
}
