import { StemmaError } from "../../errors.js";
import type { Dialect } from "../engine/dialect.js";
import { column, insert, type Operation, OR_KEEP, type SqlValue } from "../engine/operation.js";
import { isoNow } from "./clock.js";
import { MAX_NUMBER } from "./row-id.js";

/** Writes a session's row, with what `values` say. False where there is one of its id. Errors: `SESSION_LIMIT`. */
export function* insertSession(sql: Dialect, values: Readonly<Record<string, SqlValue>>): Operation<boolean> {
  const row = sql.countsSessions ? { ...(yield* numbered()), ...values } : values;
  return yield* insert("assistant_sessions", row, OR_KEEP);
}

// When a session is registered is no order: it only tells one from another of its id and number that is gone.
function* numbered(): Operation<{ no: number; registered: number }> {
  return { no: yield* nextNumber(), registered: Date.now() * 1000 + Math.floor(Math.random() * 1000) };
}

/** So many numbers are tried before all are looked at: in vain only of a store that is nearly full. */
const TRIES = 1000;

/**
 * The number behind the highest one, so that the order of numbers is that in which sessions were registered. Where that is
 * the last number of all, any that is free.
 */
export function* nextNumber(): Operation<number> {
  const [highest] = yield* column<number | null>("SELECT max(no) FROM assistant_sessions");
  if ((highest ?? 0) < MAX_NUMBER) return (highest ?? 0) + 1;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const number = 1 + Math.floor(Math.random() * MAX_NUMBER);
    if ((yield* column<number>("SELECT 1 FROM assistant_sessions WHERE no = ?", number)).length === 0) return number;
  }
  const query = `SELECT s.no FROM assistant_sessions s WHERE s.no > 1 AND NOT EXISTS (
       SELECT 1 FROM assistant_sessions b WHERE b.no = s.no - 1) LIMIT 1`;
  const [before] = yield* column<number>(query);
  if (before !== undefined) return before - 1;
  const message = `A store has at most ${MAX_NUMBER} sessions at once; delete some, or start another one.`;
  throw new StemmaError("SESSION_LIMIT", { no: highest }, message);
}

/** Registers a session. False where it is registered already. */
export function* makeRow(sql: Dialect, sessionId: string): Operation<boolean> {
  // Who locked a session that has no row is not met by a row of it.
  if (sql.lockSession !== null) yield* sql.lockSession(sessionId);
  const now = isoNow();
  return yield* insertSession(sql, { id: sessionId, name: sessionId, created_at: now, updated_at: now });
}
