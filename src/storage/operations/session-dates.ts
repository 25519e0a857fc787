import type { Dialect } from "../engine/dialect.js";
import { count, type Operation, run } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { isScope, UPGRADED_ROWS } from "../session-id.js";
import { assertStorable } from "./assert-storable.js";
import { isoNow } from "./clock.js";
import { makeRow } from "./register.js";

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
    const values = [isoNow(), sessionId];
    isThere =
      (yield* count("UPDATE assistant_sessions SET updated_at = ?, changes = changes + 1 WHERE id = ?", values)) > 0;
    if (!isThere && (sessionId === "" || (yield* makeRow(sql, sessionId)))) return;
  }
}

/** Stores what changed in a session's row other than by a plain append. */
export function* touchSession(rows: SessionRows, leaf: number | null, stale: number | null): Operation<void> {
  const update = `UPDATE assistant_sessions SET leaf = ?, stale = ?, updated_at = ?, changes = changes + 1 WHERE ${rows.registered}no = ?`;
  yield* run(update, leaf, stale, isoNow(), ...rows.ids, rows.sessionNumber);
}
