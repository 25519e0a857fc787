import type { SessionMessage } from "../../../model/message.js";
import { keyOf, type Ranked, type RowAddress } from "../../../model/rank.js";
import type { SearchRequest } from "../../contract.js";
import type { Condition, Dialect, RowRange } from "../../engine/dialect.js";
import { all, type Operation, tuples } from "../../engine/operation.js";
import { rowsOf, type SessionRows } from "../../engine/session-rows.js";
import { type ContentRow, readContent } from "../content.js";
import { assertUser } from "../owners.js";
import { findSegments, type Segment } from "../path.js";
import { ceilingOf, floorOf, sessionOf } from "../row-id.js";
import { sessionFilter } from "../session-filter.js";
import { findLeaf, findSessionRows } from "../session-head.js";

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

/** Of ranked messages those that a request asks for, in the same order; no more than `wanted`. */
export function* acceptRows(
  sql: Dialect,
  scope: Scope,
  request: SearchRequest,
  ranked: readonly Ranked[],
  wanted: number,
): Operation<Ranked[]> {
  const { sessions } = scope;
  const isIn = ({ n: rowId, sessionId }: Ranked) => sessions?.has(sessionId ?? sessionOf(rowId));
  const inSessions = sessions === null ? ranked : ranked.filter(isIn);
  if (!looksAtRows(scope, request)) return inSessions.slice(0, wanted);
  const accepted: Ranked[] = [];
  for (let start = 0; start < inSessions.length && accepted.length < wanted; start += ROWS_AT_ONCE) {
    const some = inSessions.slice(start, start + ROWS_AT_ONCE);
    const rows = yield* findRows<CheckedRow>(
      sql,
      some,
      `m.n AS n, m.session_id AS session_id, m.branch AS branch, m.role AS role, m.dated_at AS dated_at, m.created_at AS created_at${
        request.metadata === undefined ? "" : ", m.content AS content"
      }`,
      scope.range?.sessionId,
    );
    for (const candidate of some) {
      const row = rows.get(keyOf(candidate));
      if (row !== undefined && (yield* accepts(sql, scope, request, row))) accepted.push(candidate);
    }
  }
  return accepted.slice(0, wanted);
}

const ROWS_AT_ONCE = 500;

/** True when a request may ask for less than all messages of the scope's range. */
export function narrows(scope: Scope, request: SearchRequest): boolean {
  return scope.sessions !== null || looksAtRows(scope, request);
}

function looksAtRows({ path }: Scope, { role, after, before, metadata }: SearchRequest): boolean {
  return path !== null || [role, after, before, metadata].some((filter) => filter !== undefined);
}

export interface CheckedRow extends ContentRow {
  readonly session_id: string;
  readonly branch: number;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
}

function* accepts(sql: Dialect, { path }: Scope, request: SearchRequest, row: CheckedRow): Operation<boolean> {
  const { role, after, before, metadata } = request;
  if (role !== undefined && row.role !== role) return false;
  if (path !== null && !isOnPath(path, row)) return false;
  if (after !== undefined || before !== undefined) {
    const time = new Date(row.dated_at ?? row.created_at).getTime();
    if ((after !== undefined && time < after) || (before !== undefined && time >= before)) return false;
  }
  if (metadata === undefined) return true;
  const message = yield* readContent(rowsOf(sql, row.session_id, sessionOf(row.n)), row, () => {});
  return message !== null && hasMetadata(message, metadata);
}

function hasMetadata(message: SessionMessage, wanted: NonNullable<SearchRequest["metadata"]>): boolean {
  const given = message.metadata;
  if (typeof given !== "object" || given === null) return false;
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(given, key) && (given as Record<string, unknown>)[key] === value,
  );
}

/** True when a row lies on a path. */
export function isOnPath(path: readonly Segment[], row: { readonly n: number; readonly branch: number }): boolean {
  return path.some(({ branch, lo, hi }) => branch === row.branch && lo <= row.n && row.n <= hi);
}

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
