import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation } from "../../engine/operation.js";
import { idsOf, ownOf, sameSession } from "../../engine/session-rows.js";
import { findSegments, isOnPath } from "../path.js";
import { ceilingOf, floorOf, SPAN } from "../row-id.js";
import { inSession } from "./found-rows.js";
import { type HitRow, passOver, sessionKey, sessionRows } from "./hit-row.js";

/**
 * How many compactions have a row `m` in their range, of its session: nearly always none. Where rows are spread over servers,
 * they are looked for in any case: a statement that asked for them as well would not be one of the server that has the row.
 */
export const covering = (sql: Dialect): string =>
  sql.isSpread
    ? "1 AS covering"
    : `(SELECT count(*) FROM assistant_compactions c
  WHERE ${sameSession(sql, "c", "m")}c.n BETWEEN m.n - m.n % ${SPAN} AND m.n - m.n % ${SPAN} + ${SPAN - 1}
  AND m.n BETWEEN c.from_n AND c.to_n) AS covering`;

interface CompactionEnd {
  readonly id: string;
  readonly session_id: string;
  readonly from_n: number;
  readonly to_n: number;
  /** The branch that it ends on; null where its end is gone. */
  readonly branch: number | null;
}

/** The ids of the compactions whose range holds each of the rows, newest first. */
export function* compactionsOver(
  sql: Dialect,
  rows: readonly HitRow[],
  sessionId: string | undefined,
): Operation<Map<HitRow, string[]>> {
  const covered = new Map<HitRow, string[]>();
  const keyOfRow = (row: HitRow) => sessionKey(sql, row.session_id, row.n);
  const sessions = new Map(rows.map((row) => [keyOfRow(row), sessionRows(sql, row)]));
  if (sessions.size === 0) return covered;
  const { condition, values } = inSession(sql, "c", sessionId);
  const [own, ids] =
    typeof sessionId === "string" ? [ownOf(sql, "m"), idsOf(sql, sessionId)] : [sameSession(sql, "m", "c"), []];
  const compactions = yield* all<CompactionEnd>(
    `SELECT c.id AS id, c.session_id AS session_id, c.from_n AS from_n, c.to_n AS to_n,
       (SELECT m.branch FROM assistant_messages m WHERE ${own}m.n = c.to_n) AS branch
     FROM ${sql.segmentTable} AS s CROSS JOIN assistant_compactions c
     WHERE ${condition}c.n BETWEEN s.lo AND s.hi ORDER BY c.n DESC`,
    ...ids,
    JSON.stringify(
      [...sessions.values()].map(({ id, sessionNumber }) => [0, floorOf(sessionNumber), ceilingOf(sessionNumber), id]),
    ),
    ...values,
  );
  for (const { id, session_id, from_n, to_n, branch } of compactions) {
    const key = sessionKey(sql, session_id, to_n);
    const within = rows.filter((row) => keyOfRow(row) === key && from_n <= row.n && row.n <= to_n);
    const session = sessions.get(key);
    // Where the end is gone, or stands in another session, so is the path.
    if (within.length === 0 || branch === null || session === undefined) continue;
    const path = yield* findSegments(session, { rowId: to_n, branch }, passOver);
    for (const row of within) {
      if (isOnPath(path, row)) covered.set(row, [...(covered.get(row) ?? []), id]);
    }
  }
  return covered;
}
