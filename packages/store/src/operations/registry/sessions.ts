import { mergeMetadata, parseMetadata, type SessionMetadata, StemmaError } from "@stemma/model";
import type { NewSession, SessionChange, SessionDates, SessionInfo } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import {
  count,
  first,
  idsOf,
  type Operation,
  oneNumber,
  ownOf,
  run,
  type SessionRows,
} from "../../engine/operation.js";
import { assertSessionId, assertUserId, isScope, UPGRADED_ROWS } from "../../sql/session-id.js";
import { assertStorable, assertTimes } from "../assert-storable.js";
import { adoptSession } from "./owners.js";
import { insertSession, isoNow, makeRow, SESSION_RANGE } from "./session-head.js";
/** The operation behind `SessionRegistry.create`. */
export function* createSession(sql: Dialect, session: NewSession): Operation<SessionInfo> {
  assertNewSession(session);
  const { userId } = session;
  const known = yield* readSession(sql, session.id);
  if (known !== null) {
    if (userId === undefined || known.user_id === userId) return known;
    yield* adoptSession(session.id, userId);
    return { ...known, user_id: userId };
  }
  // See `makeRow`.
  if (sql.lockSession !== null) yield* sql.lockSession(session.id);
  const now = isoNow();
  const isNew = yield* insertSession(sql, {
    id: session.id,
    name: session.name,
    parent_session_id: session.parentSessionId ?? null,
    model: session.model ?? null,
    source: session.source ?? null,
    user_id: userId ?? null,
    metadata: storedForm(mergeMetadata({}, session.metadata ?? {})),
    created_at: now,
    updated_at: now,
  });
  // Someone else registered it meanwhile.
  if (!isNew) return yield* createSession(sql, session);
  return yield* getSession(sql, session.id);
}

/** The operation behind `SessionRegistry.get`. */
export function* readSession(sql: Dialect, id: string, userId?: string): Operation<SessionInfo | null> {
  const row = yield* first<ListedSession>(sessionsWhere(ownOf(sql, "m"), "s.id = ?"), ...idsOf(sql, id), id);
  return row === undefined || (userId !== undefined && row.user_id !== userId) ? null : sessionInfo(row);
}

/** A registered session, of a user where one is given. Errors: `SESSION_NOT_FOUND`. */
export function* getSession(sql: Dialect, id: string, userId?: string): Operation<SessionInfo> {
  const session = yield* readSession(sql, id, userId);
  if (session !== null) return session;
  const message = `Session not found: "${id}". Create it first, or write a message to it.`;
  throw new StemmaError("SESSION_NOT_FOUND", { sessionId: id }, message);
}

/** The operation behind `SessionRegistry.count`. */
export function* countSessions(userId?: string): Operation<number> {
  const [where, values] = userId === undefined ? ["", []] : [" WHERE user_id = ?", [userId]];
  return yield* oneNumber(`SELECT count(*) AS count FROM assistant_sessions${where}`, ...values);
}

/** The operation behind `SessionRegistry.update`. */
export function* updateSession(
  sql: Dialect,
  id: string,
  change: SessionChange,
  userId?: string,
): Operation<SessionInfo> {
  assertStorable("A session's", { name: change.name });
  const present = yield* getSession(sql, id, userId);
  const { name, metadata } = present;
  if (change.expectedName !== undefined && change.expectedName !== name) return present;
  const update =
    "UPDATE assistant_sessions SET name = ?, metadata = ?, updated_at = ?, changes = changes + 1 WHERE id = ?";
  yield* run(update, change.name ?? name, storedForm(mergeMetadata(metadata, change.metadata ?? {})), isoNow(), id);
  return yield* getSession(sql, id);
}

/** The operation behind `SessionRegistry.restore`. */
export function* restoreSession(sql: Dialect, id: string, dates: SessionDates, userId?: string): Operation<void> {
  assertStorable("A session's", { endReason: dates.endReason });
  assertTimes("A session's", { createdAt: dates.createdAt, updatedAt: dates.updatedAt });
  const present = yield* getSession(sql, id, userId);
  const { createdAt = present.created_at, updatedAt = isoNow(), endReason = present.end_reason } = dates;
  const update = `UPDATE assistant_sessions SET created_at = ?, updated_at = ?, appended_until = NULL, end_reason = ?,
       changes = changes + 1 WHERE id = ?`;
  yield* run(update, createdAt, updatedAt, endReason, id);
}

/** The operation behind `SessionStore.change`: appends count by the newest row, everything else in the session's row. */
export function* readChange(sql: Dialect, id: string): Operation<string> {
  const row = yield* first<{ registered: number; changes: number; newest: number | null }>(
    `SELECT s.registered AS registered, s.changes AS changes,
       (SELECT m.n FROM assistant_messages m WHERE ${ownOf(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")}
        ORDER BY m.n DESC LIMIT 1) AS newest
     FROM assistant_sessions s WHERE s.id = ?`,
    ...idsOf(sql, id),
    id,
  );
  return row === undefined ? "" : `${row.registered}.${row.changes}.${row.newest ?? 0}`;
}

function assertNewSession({ id, userId, name, parentSessionId, model, source }: NewSession): void {
  assertSessionId(id);
  if (userId !== undefined) assertUserId(userId);
  assertStorable("A session's", { name, parentSessionId, model, source });
}

function storedForm(metadata: SessionMetadata): string | null {
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);
}

// A plain append seldom touches the session's row: where it may have been the latest change, the newest message tells.
const changed = (own: string) => `CASE WHEN appended_until > updated_at THEN
  (SELECT m.created_at FROM assistant_messages m WHERE ${own}m.n BETWEEN ${SESSION_RANGE("s.no")} ORDER BY m.n DESC LIMIT 1) END`;

/**
 * A query of sessions `s` that meet `condition`, with `more` of them beside their registry fields: SQL by names of columns.
 * `own` begins a condition on the messages `m` of such a session.
 */
export const sessionsWhere = (own: string, condition: string, more: Readonly<Record<string, string>> = {}) => {
  const columns = Object.entries(more).map(([name, column]) => `${column} AS ${name}, `);
  return `
  SELECT no, id, name, parent_session_id, model, source, input_tokens, output_tokens, estimated_cost, end_reason,
         user_id, metadata, created_at, ${Object.keys(more)
           .map((name) => `${name}, `)
           .join("")}
         CASE WHEN appended_at > updated_at THEN appended_at ELSE updated_at END AS updated_at
  FROM (SELECT s.*, ${columns.join("")}${changed(own)} AS appended_at FROM assistant_sessions s WHERE ${condition}) AS sessions`;
};

/** A row of `sessionsWhere`. */
export type ListedSession = Omit<SessionInfo, "metadata"> & { readonly no: number; readonly metadata: string | null };

/** A row as the registry gives it. */
export function sessionInfo(row: ListedSession): SessionInfo {
  const { no: _no, ...info } = row;
  return {
    ...info,
    metadata: parseMetadata(info.metadata),
    input_tokens: Number(info.input_tokens),
    output_tokens: Number(info.output_tokens),
    estimated_cost: Number(info.estimated_cost),
  };
}

/**
 * Dates a session that something beside its messages is about to be written for, and registers one that has no row yet. The
 * unnamed one waits for its first message. It comes before that write: whoever locks a session's row does so first. A scope
 * is no session.
 */
export function* dateSession(sql: Dialect, sessionId: string): Operation<void> {
  if (isScope(sessionId) || sessionId === UPGRADED_ROWS) return;
  assertStorable("A session's", { id: sessionId });
  // Who else registers it meanwhile, or deletes it, has ended before a row is made.
  for (let isThere = false; !isThere; ) {
    const update = "UPDATE assistant_sessions SET updated_at = ?, changes = changes + 1 WHERE id = ?";
    isThere = (yield* count(update, isoNow(), sessionId)) > 0;
    if (!isThere && (sessionId === "" || (yield* makeRow(sql, sessionId)))) return;
  }
}

/** Stores what changed in a session's row other than by a plain append. */
export function* touchSession(rows: SessionRows, leaf: number | null, stale: number | null): Operation<void> {
  const update =
    "UPDATE assistant_sessions SET leaf = ?, stale = ?, updated_at = ?, changes = changes + 1, learned = NULL";
  yield* run(...rows.whereRegistered(update, leaf, stale, isoNow()));
}
