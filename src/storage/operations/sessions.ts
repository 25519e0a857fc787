import { StemmaError } from "../../errors.js";
import { mergeMetadata, parseMetadata, type SessionMetadata } from "../../model/session-metadata.js";
import { applySkillChange } from "../../model/skill-view.js";
import type { SkillChange, SkillState } from "../../model/skills.js";
import type { NewSession, SessionChange, SessionDates, SessionInfo, Usage, UsageRow } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { first, type Operation, oneNumber, run } from "../engine/operation.js";
import { idsOf, ownOf, type SessionRows } from "../engine/session-rows.js";
import { adoptSession } from "./owners.js";
import { insertSession } from "./register.js";
import { SESSION_RANGE } from "./row-id.js";
import { findSessionHead, isoNow, openSessionHead } from "./session-head.js";
import { skillsOf } from "./skill-state.js";
import { countRequest, exactSum, insertUsageRows } from "./usage.js";

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
export type ListedSession = Omit<SessionInfo, "metadata"> & {
  readonly no: number;
  readonly metadata: string | null;
};

/** See `SessionRegistry.create`. */
export function* createSession(sql: Dialect, session: NewSession): Operation<SessionInfo> {
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
  throw new StemmaError(
    "SESSION_NOT_FOUND",
    { sessionId: id },
    `Session not found: "${id}". Create it first, or write a message to it.`,
  );
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
  const present = yield* getSession(sql, id, userId);
  const { name, metadata } = present;
  if (change.expectedName !== undefined && change.expectedName !== name) return present;
  yield* run(
    "UPDATE assistant_sessions SET name = ?, metadata = ?, updated_at = ?, changes = changes + 1 WHERE id = ?",
    change.name ?? name,
    storedForm(mergeMetadata(metadata, change.metadata ?? {})),
    isoNow(),
    id,
  );
  return yield* getSession(sql, id);
}

/** See `SessionRegistry.restore`. */
export function* restoreSession(sql: Dialect, id: string, dates: SessionDates, userId?: string): Operation<void> {
  const present = yield* getSession(sql, id, userId);
  const { createdAt = present.created_at, updatedAt = isoNow(), endReason = present.end_reason } = dates;
  yield* run(
    `UPDATE assistant_sessions SET created_at = ?, updated_at = ?, appended_until = NULL, end_reason = ?,
       changes = changes + 1 WHERE id = ?`,
    createdAt,
    updatedAt,
    endReason,
    id,
  );
}

/** See `SessionRegistry.addUsage`. */
export function* addUsage(
  sql: Dialect,
  id: string,
  usage: Usage,
  { model = "", userId }: { readonly model?: string | undefined; readonly userId?: string | undefined },
): Operation<void> {
  yield* getSession(sql, id, userId);
  yield* countRequest(id, model, usage);
  yield* addToTotal(id, usage);
}

/** See `SessionRegistry.importUsage`. */
export function* importUsage(
  sql: Dialect,
  id: string,
  total: Usage,
  { rows = [], userId }: { readonly rows?: readonly UsageRow[] | undefined; readonly userId?: string | undefined } = {},
): Operation<void> {
  yield* getSession(sql, id, userId);
  yield* insertUsageRows(id, rows);
  yield* addToTotal(id, total);
}

function* addToTotal(id: string, { inputTokens, outputTokens, cost }: Usage): Operation<void> {
  yield* run(
    `UPDATE assistant_sessions SET input_tokens = ${exactSum("input_tokens")}, output_tokens = ${exactSum("output_tokens")},
       estimated_cost = estimated_cost + ?, updated_at = ?, changes = changes + 1 WHERE id = ?`,
    ...[inputTokens, inputTokens, inputTokens],
    ...[outputTokens, outputTokens, outputTokens],
    cost,
    isoNow(),
    id,
  );
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

/** See `SessionStore.skills`. */
export function* readSkills(sql: Dialect, id: string): Operation<SkillState> {
  const head = yield* findSessionHead(sql, id);
  return skillsOf(head ?? { sessionNumber: 0, skills: null });
}

/** See `SessionStore.changeSkills`. */
export function* changeSkills(sql: Dialect, id: string, change: SkillChange): Operation<boolean> {
  const head = yield* openSessionHead(sql, id);
  const state = applySkillChange(skillsOf(head), change, head.newest?.rowId ?? 0);
  if (state === null) return false;
  yield* writeSkills(head.rows, state);
  return true;
}

/** Notes which skills a session has loaded and unloaded. */
export function* writeSkills(rows: SessionRows, state: SkillState): Operation<void> {
  yield* run(
    `UPDATE assistant_sessions SET skills = ?, updated_at = ?, changes = changes + 1 WHERE ${rows.registered}no = ?`,
    JSON.stringify(state),
    isoNow(),
    ...[...rows.ids, rows.sessionNumber],
  );
}

function storedForm(metadata: SessionMetadata): string | null {
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);
}

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
