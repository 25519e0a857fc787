import type { SearchRequest } from "../../contract.js";
import type { Dialect } from "../../engine/dialect.js";
import { type Operation, tuples } from "../../engine/operation.js";
import type { RowRange } from "../../engine/search-dialect.js";
import type { SessionRows } from "../../engine/session-rows.js";
import { findLeaf } from "../active-leaf.js";
import { assertUser } from "../owners.js";
import { findSegments, type Segment } from "../path.js";
import { ceilingOf, floorOf } from "../row-id.js";
import { sessionFilter } from "../session-filter.js";
import { findSessionRows } from "../session-head.js";

/** What a search may find. */
export interface Scope {
  /** The rows among which it looks; null for all of them. */
  readonly range: RowRange;
  /** The sessions that it is about, by their ids where rows name them, else by their numbers; null for all within the range. */
  readonly sessions: ReadonlySet<number | string> | null;
  /** The path to `leafId`. */
  readonly path: readonly Segment[] | null;
}

/** The scope of a request; null when nothing can be in it. Errors: `MESSAGE_NOT_FOUND` for its `leafId`, `SESSION_OWNED`. */
export function* openScope(sql: Dialect, request: SearchRequest): Operation<Scope | null> {
  const { sessionId, leafId, userId } = request;
  if (sessionId === undefined) return yield* scopeOf(sql, request);
  if (userId !== undefined) yield* assertUser(sessionId, userId);
  const { sessionIds } = request;
  const isLeftOut = sessionIds?.includes(sessionId) === false;
  if (leafId === undefined) {
    const range = isLeftOut ? null : yield* rangeIn(sql, sessionId);
    return range === null ? null : { range, sessions: null, path: null };
  }
  const found = yield* findLeaf(sql, sessionId, leafId ?? undefined);
  if (found === null || isLeftOut) return null;
  const { head, leaf } = found;
  return { range: rangeOf(head.rows), sessions: null, path: yield* findSegments(head.rows, leaf) };
}

function* scopeOf(sql: Dialect, request: SearchRequest): Operation<Scope | null> {
  const { sessionIds, userId, sessionMetadata } = request;
  if (sessionIds === undefined && userId === undefined && sessionMetadata === undefined) {
    return { range: null, sessions: null, path: null };
  }
  const { condition, values } = sessionFilter(sql, { userId, metadata: sessionMetadata });
  const select = `SELECT s.no AS no, s.id AS id FROM assistant_sessions s WHERE ${condition}`;
  const found: NumberedTuple[] = sessionIds === undefined ? yield* tuples<NumberedTuple>(select, ...values) : [];
  for (let start = 0; start < (sessionIds?.length ?? 0); start += IDS_AT_ONCE) {
    const ids = sessionIds?.slice(start, start + IDS_AT_ONCE) ?? [];
    const marks = ids.map(() => "?").join(", ");
    for (const row of yield* tuples<NumberedTuple>(`${select} AND s.id IN (${marks})`, ...values, ...ids))
      found.push(row);
  }
  const [one, ...others] = found.sort(([a], [b]) => Number(a) - Number(b));
  if (one === undefined) return null;
  const [lowest, highest] = [Number(one[0]), Number((others.at(-1) ?? one)[0])];
  const sessions = new Set(found.map(([no, id]) => (sql.namesSessions ? id : Number(no))));
  const isOne = sessions.size === 1;
  const range = { lo: floorOf(lowest), hi: ceilingOf(highest), sessionId: isOne ? one[1] : null };
  return { range, sessions: isOne ? null : sessions, path: null };
}

type NumberedTuple = [no: number, id: string];

// Rows that name their session are found by it.
function* rangeIn(sql: Dialect, sessionId: string): Operation<RowRange> {
  if (sql.namesSessions) return { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId };
  const rows = yield* findSessionRows(sql, sessionId);
  return rows === null ? null : rangeOf(rows);
}

const rangeOf = ({ id, sessionNumber }: SessionRows): RowRange => ({
  lo: floorOf(sessionNumber),
  hi: ceilingOf(sessionNumber),
  sessionId: id,
});

// Engines bind at least a hundred values to a statement.
const IDS_AT_ONCE = 90;
