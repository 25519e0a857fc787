import type { Dialect, SearchIndex } from "../engine/dialect.js";
import type { SessionRows } from "../engine/operation.js";
import { all, type Operation, type SqlValue } from "../engine/operation.js";
import { assertOrder } from "../operations/messages/damage.js";
import { ceilingOf, floorOf } from "../operations/registry/session-head.js";
import { messagesBetween, type ReadTo } from "../operations/search/index-rows.js";
import type { IndexWindow } from "./check-dialect.js";

/** The first window is behind this row. */
export const beginning: ReadTo = { rowId: Number.MIN_SAFE_INTEGER, sessionId: "" };

/** The messages of one session. */
export function windowOfSession({ id, sessionNumber, layout }: SessionRows): IndexWindow {
  const [lo, hi] =
    layout !== "local"
      ? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
      : [floorOf(sessionNumber) - 1, ceilingOf(sessionNumber)];
  return { after: { rowId: lo, sessionId: id }, to: { rowId: hi, sessionId: id } };
}

/** Rows of an index that are in a window, in its order. */
export function rowsInWindow(
  sql: Dialect,
  index: SearchIndex,
  columns: string,
  { after, to }: IndexWindow,
): [sql: string, ...values: SqlValue[]] {
  if (index === "messages") return messagesBetween(sql, columns, after, to);
  const hi = to?.rowId ?? Number.MAX_SAFE_INTEGER;
  return [`SELECT ${columns} FROM cf_agents_search_entries m WHERE m.n > ? AND m.n <= ? ORDER BY m.n`, after.rowId, hi];
}

/** The end of the next window behind a row, of so many documents; null of the last one, which has none. */
export function* windowEnd(sql: Dialect, index: SearchIndex, after: ReadTo, size: number): Operation<ReadTo | null> {
  const [query, ...values] = rowsInWindow(sql, index, "m.n AS n, m.session_id AS session_id", { after, to: null });
  const [end] = yield* all<{ n: number; session_id: string }>(`${query} LIMIT 1 OFFSET ${size - 1}`, ...values);
  return end === undefined ? null : nextAfter(sql, after, end);
}

/** Behind which row the next page begins. */
export function nextAfter({ layout }: Dialect, after: ReadTo, row: { n: number; session_id: string }): ReadTo {
  const next = { rowId: Number(row.n), sessionId: layout !== "local" ? row.session_id : after.sessionId };
  assertOrder(next.rowId > after.rowId || next.sessionId !== after.sessionId);
  return next;
}
