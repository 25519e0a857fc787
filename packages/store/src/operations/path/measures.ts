import type { HistoryRowStat } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import {
  all,
  first,
  idsOf,
  type Operation,
  oneNumber,
  ownOf,
  run,
  type SessionRows,
  sameSession,
} from "../../engine/operation.js";
import { currentTotal } from "../messages/messages.js";
import type { MessagePosition } from "../registry/session-head.js";
import { findLeaf, floorOf, SPAN } from "../registry/session-head.js";
import { inPortions } from "../row-portions.js";
import { findSegments, inRanges, type PathSpan, rangesOf, selectRanges, visibleSpans } from "./path.js";

// How long a path is: in messages, bytes and estimated tokens.

/** The operation behind `SessionStore.rowStats`. */
export function* rowStats(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<HistoryRowStat[]> {
  const found = yield* findLeaf(sql, sessionId, leafId);
  if (found === null) return [];
  const { head, leaf } = found;
  const outside = `(SELECT sum(${sql.byteLength("p.data")}) FROM assistant_media_refs r
    JOIN assistant_media p ON ${sameSession(sql, "p", "r")}p.no = r.no AND p.hash = r.hash
    WHERE ${ownOf(head.rows, "r")}r.no = ${head.sessionNumber} AND r.n = m.n)`;
  const columns = `m.id AS id, m.role AS role, ${sql.byteLength("m.content")} + COALESCE(${outside}, 0) AS bytes`;
  const stats: HistoryRowStat[] = [];
  yield* inPortions(sql, yield* findSegments(head.rows, leaf), function* (portion) {
    const [query, ...values] = selectRanges(sql, head.rows, columns, portion);
    const rows = yield* all<HistoryRowStat>(query, ...head.rows.ids, ...values);
    for (const { id, role, bytes } of rows) stats.push({ id, role, bytes: Number(bytes) });
  });
  return stats;
}

/** A length that is worth writing down: the next count of a path through the row `to` begins behind it. */
export interface CountedLength {
  readonly rows: SessionRows;
  readonly to: number;
  readonly length: number;
  /** It holds as long as the session has no other number of changes. */
  readonly changes: number;
  readonly registered: number;
}

/** So many rows are counted each time. */
const UNCOUNTED = 1000;

/** The operation behind `SessionStore.length`. With `counted`, which is to be written down, where many rows had to be counted. */
export function* pathLength(
  sql: Dialect,
  sessionId: string,
  leafId: string | undefined,
): Operation<{ readonly length: number; readonly counted: CountedLength | null }> {
  const found = yield* findLeaf(sql, sessionId, leafId);
  if (found === null) return { length: 0, counted: null };
  const { rows } = found.head;
  const segments = yield* findSegments(rows, found.leaf);
  const known = yield* first<{ n: number | null; branch: number; counted: number; changes: number }>(
    `SELECT m.n AS n, m.branch AS branch, s.counted AS counted, s.changes AS changes
     FROM assistant_sessions s LEFT JOIN assistant_messages m ON ${ownOf(rows, "m")}m.n = s.counted_to
     WHERE ${rows.registered && `s.${rows.registered}`}s.no = ?`,
    ...[...rows.ids, ...rows.ids, rows.sessionNumber],
  );
  const to = known?.n ?? null;
  const isOnPath = to !== null && segments.some((s) => s.branch === known?.branch && s.lo <= to && to <= s.hi);
  const rest = isOnPath ? segments.map((s) => ({ ...s, lo: Math.max(s.lo, to + 1) })) : segments;
  const more = yield* sumOverRanges(sql, rows, "count(*)", rest);
  const length = (isOnPath ? Number(known?.counted) : 0) + more;
  if (more < UNCOUNTED || known === undefined) return { length, counted: null };
  return {
    length,
    counted: { rows, to: found.leaf.rowId, length, changes: Number(known.changes), registered: found.head.registered },
  };
}

/** Writes a length down, with that of all branches up to there, unless the session was changed since it was counted. */
export function* noteLength({ rows, to, length, changes, registered }: CountedLength): Operation<void> {
  const update = `UPDATE assistant_sessions SET counted_to = ?, counted = ?,
       counted_all = (SELECT count(*) FROM assistant_messages m WHERE m.session_id = assistant_sessions.id AND m.n <= ?)
     WHERE id = ? AND no = ? AND registered = ? AND changes = ?`;
  yield* run(update, ...[to, length, to, rows.id, rows.sessionNumber, registered, changes]);
}

/** Forgets the length that a session holds. */
export function* forgetLength(rows: SessionRows): Operation<void> {
  const update = "UPDATE assistant_sessions SET counted_to = NULL, counted = NULL, counted_all = NULL";
  yield* run(...rows.whereRegistered(update));
}

/** How many messages the path to a row has, and all branches up to it. */
export function* countTo(
  sql: Dialect,
  rows: SessionRows,
  leaf: MessagePosition,
): Operation<{ readonly path: number; readonly all: number }> {
  const path = yield* sumOverRanges(sql, rows, "count(*)", yield* findSegments(rows, leaf));
  return {
    path,
    all: yield* oneNumber(
      ...rows.where(
        "SELECT count(*) AS count FROM assistant_messages",
        "n BETWEEN ? AND ?",
        floorOf(rows.sessionNumber),
        leaf.rowId,
      ),
    ),
  };
}

/** The operation behind `SessionStore.count`. What was not counted before is counted by the index on ids, which holds no contents. */
export function* countMessages(sql: Dialect, sessionId: string): Operation<number> {
  const query = `SELECT CASE WHEN s.counted_to IS NULL THEN (SELECT count(*) FROM assistant_messages m WHERE m.session_id = ?)
       ELSE s.counted_all + (SELECT count(*) FROM assistant_messages m
         WHERE ${ownOf(sql, "m")}m.n > s.counted_to AND m.n <= s.no * ${SPAN} + ${SPAN - 1}) END AS count
     FROM assistant_sessions s WHERE s.id = ?`;
  return yield* oneNumber(query, ...[sessionId, ...idsOf(sql, sessionId), sessionId]);
}

/** The operation behind `SessionStore.tokens`. Writes the sum down where it stays right, so that it is measured once. */
export function* visibleTokens(sql: Dialect, sessionId: string, leafId: string | undefined): Operation<number> {
  const found = yield* findLeaf(sql, sessionId, leafId);
  if (found === null) return 0;
  const { head, leaf } = found;
  const known = currentTotal(head, leaf);
  if (known !== null) return known;
  const total = yield* measureTokens(sql, head.rows, leaf);
  if (head.stale === null || leaf.rowId > head.stale) {
    yield* run(...head.rows.where("UPDATE assistant_messages SET total = ?", "n = ?", total, leaf.rowId));
  }
  return total;
}

/** Adds up the tokens of the visible history to `leaf`. */
export function* measureTokens(sql: Dialect, rows: SessionRows, leaf: MessagePosition): Operation<number> {
  return yield* tokensOf(sql, rows, yield* visibleSpans(rows, leaf));
}

/** Adds up the tokens of what a reader sees. */
export function* tokensOf(sql: Dialect, rows: SessionRows, spans: readonly PathSpan[]): Operation<number> {
  let total = yield* sumOverRanges(sql, rows, "sum(m.tokens)", rangesOf(spans));
  for (const span of spans) if ("compaction" in span) total += Number(span.compaction.tokens);
  return total;
}

function* sumOverRanges(
  sql: Dialect,
  rows: SessionRows,
  aggregate: string,
  ranges: readonly { branch: number; lo: number; hi: number }[],
): Operation<number> {
  const query = `SELECT ${aggregate} AS value FROM ${inRanges(sql)}`;
  return yield* oneNumber(query, JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi])), ...rows.ids);
}
