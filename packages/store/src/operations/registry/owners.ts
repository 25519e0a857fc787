import { StemmaError } from "@stemma/model";
import type { BlockScope } from "../../contract/store.js";
import { count, first, type Operation } from "../../engine/operation.js";
import { assertScope, isScope, keyScope, userScope } from "../../sql/session-id.js";

/** Whose a session is: null for nobody's, undefined for one that has no row. */
export function* ownerOf(sessionId: string): Operation<string | null | undefined> {
  const query = "SELECT user_id FROM assistant_sessions WHERE id = ?";
  const row = yield* first<{ user_id: string | null }>(query, sessionId);
  return row === undefined ? undefined : row.user_id;
}

/** Makes sure that a user may use a session, which may be nobody's. Gives whose it is. Errors: `SESSION_OWNED`. */
export function* assertUser(sessionId: string, userId: string): Operation<string | null | undefined> {
  if (isScope(sessionId) && sessionId !== userScope(userId)) throw owned(sessionId);
  const owner = yield* ownerOf(sessionId);
  if (typeof owner === "string" && owner !== userId) throw owned(sessionId);
  return owner;
}

/** Gives a session that is nobody's to a user. Errors: `SESSION_OWNED` when it is another one's, as of now. */
export function* adoptSession(sessionId: string, userId: string): Operation<void> {
  const adopt = "UPDATE assistant_sessions SET user_id = ?, changes = changes + 1 WHERE id = ? AND user_id IS NULL";
  // Someone else may have registered it since this transaction looked.
  if ((yield* count(adopt, userId, sessionId)) === 0) yield* assertUser(sessionId, userId);
}

/** An operation that reads a session, for a user. Errors: `SESSION_OWNED`. */
export function readAs<T>(userId: string, sessionId: string, operation: () => Operation<T>): () => Operation<T> {
  return function* () {
    yield* assertUser(sessionId, userId);
    return yield* operation();
  };
}

/** An operation that writes to a session, for a user, whose the session is from then on. Errors: `SESSION_OWNED`. */
export function writeAs<T>(userId: string, sessionId: string, operation: () => Operation<T>): () => Operation<T> {
  return function* () {
    const owner = yield* assertUser(sessionId, userId);
    const result = yield* operation();
    if (owner !== userId) yield* adoptSession(sessionId, userId);
    return result;
  };
}

interface Scoped {
  readonly sessionId: string;
  readonly scope?: BlockScope | undefined;
}

/** The key of what a scope keeps, for who reads or writes it. Errors: `USER_REQUIRED`. */
export function* scopedKey<K extends Scoped>(key: K, userId: string | undefined): Operation<K> {
  const { sessionId, scope = "session" } = key;
  if (scope === "session") return key;
  assertScope(scope);
  if (typeof scope === "object") return { ...key, sessionId: keyScope(scope.key) };
  const user = userId ?? (yield* ownerOf(sessionId));
  if (typeof user === "string") return { ...key, sessionId: userScope(user) };
  const message =
    "This block belongs to the user, and the session has none: use manager.forUser(userId) or Session.create(store).forUser(userId).";
  throw new StemmaError("USER_REQUIRED", { sessionId }, message);
}

/** The error for a session of another user. It tells nothing of the session. */
export function owned(sessionId: string, options?: { cause: unknown }): StemmaError {
  return new StemmaError("SESSION_OWNED", { sessionId }, `Session "${sessionId}" belongs to another user.`, options);
}
