import type { SearchRequest } from "../../contract/store.js";
import type { ChosenSessions, Dialect, RowRange, SeveralSessions } from "../../engine/dialect.js";
import { type Operation, tuples } from "../../engine/operation.js";
import type { SessionRows } from "../../engine/session-rows.js";
import { ceilingOf, floorOf } from "../messages/row-id.js";
import { findSegments, type Segment } from "../path/path.js";
import { findLeaf } from "../path/tree.js";
import { sessionFilter } from "../registry/list-sessions.js";
import { assertUser } from "../registry/owners.js";
import { findSessionRows } from "../registry/session-head.js";

/** What a search may find. */
export interface Scope {
  /** The rows among which it looks; null for all of them. */
  readonly range: RowRange;
  /** The sessions that it is about, by their ids where rows name them, else by their numbers; null for all that the range tells. */
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
  const chosen = chosenSessions(sql, request);
  if (chosen === null) return { range: null, sessions: null, path: null };
  const { ids, where } = chosen;
  const { condition, values } = where;
  const select = `SELECT s.no AS no, s.id AS id FROM assistant_sessions s WHERE ${condition}`;
  const found: NumberedTuple[] = ids === null ? yield* tuples<NumberedTuple>(select, ...values) : [];
  for (let start = 0; start < (ids?.length ?? 0); start += IDS_AT_ONCE) {
    const some = ids?.slice(start, start + IDS_AT_ONCE) ?? [];
    const marks = some.map(() => "?").join(", ");
    for (const row of yield* tuples<NumberedTuple>(`${select} AND s.id IN (${marks})`, ...values, ...some))
      found.push(row);
  }
  const [one, ...others] = found.sort(([a], [b]) => Number(a) - Number(b));
  if (one === undefined) return null;
  const [lowest, highest] = [Number(one[0]), Number((others.at(-1) ?? one)[0])];
  const range = { lo: floorOf(lowest), hi: ceilingOf(highest), sessionId: null };
  if (others.length === 0) return { range: { ...range, sessionId: one[1] }, sessions: null, path: null };
  const several = severalOf(found);
  if (areLookedInto(sql, several, highest - lowest))
    return { range: { ...range, several }, sessions: null, path: null };
  const sessions = new Set(found.map(([no, id]) => (sql.namesSessions ? id : Number(no))));
  return { range, sessions, path: null };
}

/** The sessions of a request, where a statement has to find them; null for all, and for one that anybody may search. */
export function chosenSessions(sql: Dialect, request: SearchRequest): ChosenSessions | null {
  const { sessionId, sessionIds, userId, sessionMetadata: metadata } = request;
  if (sessionId === undefined) {
    if (sessionIds === undefined && userId === undefined && metadata === undefined) return null;
    const where = sessionFilter(sql, { userId, metadata });
    return { ids: sessionIds ?? null, where, isFrequent: metadata === undefined };
  }
  if (userId === undefined) return null;
  const ids = sessionIds?.includes(sessionId) === false ? [] : [sessionId];
  return { ids, where: { condition: "(s.user_id = ? OR s.user_id IS NULL)", values: [userId] }, isFrequent: true };
}

type NumberedTuple = [no: number, id: string];

// In ascending order; what no other session is between is one range.
function severalOf(sessions: readonly NumberedTuple[]): SeveralSessions {
  const ranges: [lo: number, hi: number][] = [];
  for (const [no] of sessions) {
    const [lo, hi] = [floorOf(Number(no)), ceilingOf(Number(no))];
    const last = ranges.at(-1);
    if (last !== undefined && lo <= last[1] + 1) last[1] = hi;
    else ranges.push([lo, hi]);
  }
  return { ids: sessions.map(([, id]) => id), ranges };
}

/**
 * To look into so many sessions takes no longer than to look for their messages among those of all others. By their numbers it
 * takes some microseconds for each range and word; the more sessions there are beside them, the longer takes the other way.
 */
function areLookedInto(sql: Dialect, { ids, ranges }: SeveralSessions, span: number): boolean {
  return sql.namesSessions ? ids.length <= MOST_NAMED : ranges.length <= Math.max(FEW_RANGES, 2 * Math.sqrt(span));
}

/** So many sessions are looked into by their ids. */
export const MOST_NAMED = 5_000;
const FEW_RANGES = 20;

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
