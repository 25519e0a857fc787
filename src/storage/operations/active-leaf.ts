import type { CorruptHandler, Dialect } from "../engine/dialect.js";
import { first, type Operation } from "../engine/operation.js";
import { damaged, reportDamage } from "./damage.js";
import { assertWithin, FIND_POSITION, findNamed, type MessagePosition, messageNotFound } from "./message-position.js";
import { sessionOf } from "./row-id.js";
import { findSessionHead, type SessionHead } from "./session-head.js";

/** What a session's row says where no message is its active leaf. */
export const NO_LEAF = 0;

/** Where the active leaf is, or null in a session without one. Errors: `CORRUPT_MESSAGE` where the one that was chosen is gone. */
export function* activeLeaf(head: SessionHead, onCorrupt?: CorruptHandler): Operation<MessagePosition | null> {
  if (head.leaf === null) return head.newest;
  if (head.leaf === NO_LEAF) return null;
  const { rows } = head;
  const position =
    sessionOf(head.leaf) === head.sessionNumber
      ? yield* first<MessagePosition>(`${FIND_POSITION} WHERE ${rows.own}n = ?`, ...rows.ids, head.leaf)
      : undefined;
  if (position !== undefined) return position;
  const why = "The active leaf of the session is no message of it.";
  reportDamage(onCorrupt, "", damaged({ sessionNumber: head.sessionNumber }, why));
  return head.newest;
}

/**
 * A session's row, and the message that a read of it ends with: `leafId`, or the active leaf. Null in a session without an
 * active leaf. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
 */
export function* findLeaf(
  sql: Dialect,
  sessionId: string,
  leafId: string | undefined,
  onCorrupt?: CorruptHandler,
): Operation<{ readonly head: SessionHead; readonly leaf: MessagePosition } | null> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return leafId === undefined ? null : messageNotFound(sessionId, leafId);
  if (leafId === undefined) {
    const leaf = yield* activeLeaf(head, onCorrupt);
    return leaf === null ? null : { head, leaf };
  }
  const leaf = (yield* findNamed(sql, sessionId, leafId)) ?? messageNotFound(sessionId, leafId);
  assertWithin(head, leaf);
  return { head, leaf };
}
