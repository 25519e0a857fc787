import type { HistoryRowStat } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, first, type Operation, run } from "../engine/operation.js";
import { currentTotal } from "./messages.js";
import { findSegments, rangesOf, selectRanges, visibleSpans } from "./path.js";
import { findLeaf, type MessagePosition } from "./session-head.js";

// How long a path is: in messages, bytes and estimated tokens.

/** See `SessionStore.rowStats`. */
export function* rowStats(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<HistoryRowStat[]> {
  const found = yield* findLeaf(sessionId, leafId);
  if (found === null) return [];
  const { head, leaf } = found;
  const outside = `(SELECT sum(${sql.byteLength("p.data")}) FROM assistant_media_refs r
    JOIN assistant_media p ON p.no = r.no AND p.hash = r.hash WHERE r.no = ${head.no} AND r.n = m.n)`;
  const columns = `m.id AS id, m.role AS role, ${sql.byteLength("m.content")} + COALESCE(${outside}, 0) AS bytes`;
  const rows = yield* all<HistoryRowStat>(...selectRanges(sql, columns, yield* findSegments(head.no, leaf)));
  return rows.map(({ id, role, bytes }) => ({ id, role, bytes: Number(bytes) }));
}

/** See `SessionStore.length`. */
export function* pathLength(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<number> {
  const found = yield* findLeaf(sessionId, leafId);
  if (found === null) return 0;
  const { head, leaf } = found;
  return yield* sumOverRanges(sql, "count(*)", yield* findSegments(head.no, leaf));
}

/** See `SessionStore.count`. By the index on ids, which holds no contents. */
export function* countMessages(sessionId: string): Operation<number> {
  const row = yield* first<{ count: number }>(
    "SELECT count(*) AS count FROM assistant_messages WHERE session_id = ?",
    sessionId,
  );
  return Number(row?.count ?? 0);
}

/** See `SessionStore.tokens`. Writes the sum down where it stays right, so that it is measured once. */
export function* visibleTokens(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<number> {
  const found = yield* findLeaf(sessionId, leafId);
  if (found === null) return 0;
  const { head, leaf } = found;
  const known = currentTotal(head, leaf);
  if (known !== null) return known;
  const total = yield* measureTokens(sql, head.no, leaf);
  if (head.stale === null || leaf.n > head.stale) {
    yield* run("UPDATE assistant_messages SET total = ? WHERE n = ?", total, leaf.n);
  }
  return total;
}

/** Adds up the tokens of the visible history to `leaf`. */
export function* measureTokens(sql: Dialect, sessionNumber: number, leaf: MessagePosition): Operation<number> {
  const spans = yield* visibleSpans(sessionNumber, leaf);
  let total = yield* sumOverRanges(sql, "sum(m.tokens)", rangesOf(spans));
  for (const span of spans) if ("compaction" in span) total += Number(span.compaction.tokens);
  return total;
}

function* sumOverRanges(
  sql: Dialect,
  aggregate: string,
  ranges: readonly { branch: number; lo: number; hi: number }[],
): Operation<number> {
  const row = yield* first<{ value: number | null }>(
    `SELECT ${aggregate} AS value FROM ${sql.segmentTable} AS s CROSS JOIN assistant_messages m
     WHERE m.n BETWEEN s.lo AND s.hi AND m.branch = s.branch`,
    JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi])),
  );
  return Number(row?.value ?? 0);
}
