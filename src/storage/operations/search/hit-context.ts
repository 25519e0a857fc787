import type { FoundMessage, SearchHit } from "../../contract.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation } from "../../engine/operation.js";
import type { SessionRows } from "../../engine/session-rows.js";
import { activeLeaf } from "../active-leaf.js";
import { findSegments, isOnPath, type Segment } from "../path.js";
import { ceilingOf } from "../row-id.js";
import { findSessionHead } from "../session-head.js";
import { HIT_COLUMNS, type HitRow, passOver, readFound, sessionKey, sessionRows } from "./hit-row.js";

/**
 * The path on which a row's neighbours are looked for: the one that was asked for, else the active one where the row lies
 * on that, else the row's own branch to its end.
 */
export function pathsThrough(
  sql: Dialect,
  asked: readonly Segment[] | null,
): (row: HitRow) => Operation<readonly Segment[]> {
  const active = new Map<number | string, readonly Segment[]>();
  return function* (row) {
    if (asked !== null) return asked;
    const session = sessionRows(sql, row);
    const key = sessionKey(sql, row.session_id, row.n);
    let path = active.get(key);
    if (path === undefined) {
      const head = yield* findSessionHead(sql, row.session_id);
      const leaf = head === null ? null : yield* activeLeaf(head, passOver);
      path = leaf === null ? [] : yield* findSegments(session, leaf, passOver);
      active.set(key, path);
    }
    return isOnPath(path, row)
      ? path
      : yield* findSegments(session, { rowId: ceilingOf(session.sessionNumber), branch: row.branch }, passOver);
  };
}

/** The messages around a row on a path, `size` in each direction. */
export function* contextOf(
  sql: Dialect,
  path: readonly Segment[],
  row: HitRow,
  size: number,
): Operation<NonNullable<SearchHit["context"]>> {
  const { n: rowId } = row;
  const near = { session: sessionRows(sql, row), size };
  const before = yield* neighbours(sql, near, [...path].reverse(), "DESC", ({ lo, hi }) => [
    lo,
    Math.min(hi, rowId - 1),
  ]);
  const after = yield* neighbours(sql, near, path, "ASC", ({ lo, hi }) => [Math.max(lo, rowId + 1), hi]);
  return { before: before.reverse(), after };
}

function* neighbours(
  sql: Dialect,
  { session, size }: { readonly session: SessionRows; readonly size: number },
  segments: readonly Segment[],
  order: "ASC" | "DESC",
  part: (segment: Segment) => [lo: number, hi: number],
): Operation<FoundMessage[]> {
  const found: FoundMessage[] = [];
  for (const segment of segments) {
    const [lo, hi] = part(segment);
    if (lo > hi || found.length === size) continue;
    const query = `SELECT ${HIT_COLUMNS} FROM assistant_messages
       WHERE ${session.own}n BETWEEN ? AND ? AND branch = ? ORDER BY n ${order} LIMIT ?`;
    const rows = yield* all<HitRow>(query, ...session.ids, lo, hi, segment.branch, size - found.length);
    for (const row of rows) found.push(yield* readFound(sql, row));
  }
  return found;
}
