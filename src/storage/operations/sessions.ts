import { StemmaError } from "../../errors.js";
import { mergeMetadata, type SessionMetadata } from "../../model/session-metadata.js";
import type { NewSession, SessionChange, SessionDates, SessionInfo } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { first, type Operation, oneNumber, run } from "../engine/operation.js";
import { idsOf, ownOf } from "../engine/session-rows.js";
import { assertSessionId, assertUserId } from "../session-id.js";
import { assertStorable, assertTimes } from "./assert-storable.js";
import { isoNow } from "./clock.js";
import { adoptSession } from "./owners.js";
import { insertSession } from "./register.js";
import { SESSION_RANGE } from "./row-id.js";
import { type ListedSession, sessionInfo, sessionsWhere } from "./session-info.js";

/** See `SessionRegistry.create`. */
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

/** See `SessionRegistry.get`. */
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

/** See `SessionRegistry.count`. */
export function* countSessions(userId?: string): Operation<number> {
  const [where, values] = userId === undefined ? ["", []] : [" WHERE user_id = ?", [userId]];
  return yield* oneNumber(`SELECT count(*) AS count FROM assistant_sessions${where}`, ...values);
}

/** See `SessionRegistry.update`. */
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

/** See `SessionRegistry.restore`. */
export function* restoreSession(sql: Dialect, id: string, dates: SessionDates, userId?: string): Operation<void> {
  assertStorable("A session's", { endReason: dates.endReason });
  assertTimes("A session's", { createdAt: dates.createdAt, updatedAt: dates.updatedAt });
  const present = yield* getSession(sql, id, userId);
  const { createdAt = present.created_at, updatedAt = isoNow(), endReason = present.end_reason } = dates;
  const update = `UPDATE assistant_sessions SET created_at = ?, updated_at = ?, appended_until = NULL, end_reason = ?,
       changes = changes + 1 WHERE id = ?`;
  yield* run(update, createdAt, updatedAt, endReason, id);
}

/** See `SessionStore.change`: appends count by the newest row, everything else in the session's row. */
export function* readChange(sql: Dialect, id: string): Operation<string> {
  const row = yield* first<{ no: number; registered: number | null; changes: number; newest: number | null }>(
    `SELECT s.no AS no, s.registered AS registered, s.changes AS changes,
       (SELECT m.n FROM assistant_messages m WHERE ${ownOf(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")}
        ORDER BY m.n DESC LIMIT 1) AS newest
     FROM assistant_sessions s WHERE s.id = ?`,
    ...idsOf(sql, id),
    id,
  );
  return row === undefined ? "" : `${row.registered ?? row.no}.${row.changes}.${row.newest ?? 0}`;
}

function assertNewSession({ id, userId, name, parentSessionId, model, source }: NewSession): void {
  assertSessionId(id);
  if (userId !== undefined) assertUserId(userId);
  assertStorable("A session's", { name, parentSessionId, model, source });
}

function storedForm(metadata: SessionMetadata): string | null {
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);
}
