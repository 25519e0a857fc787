import type { SessionMessage } from "../../../model/message.js";
import { keyOf, type Ranked } from "../../../model/rank.js";
import type { SearchRequest } from "../../contract.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import { rowsOf } from "../../engine/session-rows.js";
import { readContent } from "../content.js";
import { isOnPath } from "../path.js";
import { sessionOf } from "../row-id.js";
import { findRows } from "./found-rows.js";
import type { HitRow } from "./hit-row.js";
import type { Scope } from "./search-scope.js";

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
  if (!looksAtRows(request)) return inSessions.slice(0, wanted);
  const content = request.metadata === undefined ? "" : ", m.content AS content";
  const columns = `m.n AS n, m.session_id AS session_id, m.branch AS branch, m.role AS role, m.dated_at AS dated_at, m.created_at AS created_at${content}`;
  const accepted: Ranked[] = [];
  for (let start = 0; start < inSessions.length && accepted.length < wanted; start += ROWS_AT_ONCE) {
    const some = inSessions.slice(start, start + ROWS_AT_ONCE);
    const rows = yield* findRows<CheckedRow>(sql, some, columns, scope.range?.sessionId);
    for (const candidate of some) {
      const row = rows.get(keyOf(candidate));
      if (row !== undefined && (yield* accepts(sql, scope, request, row))) accepted.push(candidate);
    }
  }
  return accepted.slice(0, wanted);
}

const ROWS_AT_ONCE = 500;

/** True where a message's row tells whether a request asks for it. */
export function looksAtRows({ leafId, role, after, before, metadata }: SearchRequest): boolean {
  return [leafId, role, after, before, metadata].some((filter) => filter !== undefined);
}

type CheckedRow = Omit<HitRow, "id">;

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
