import { isSummaryMessage, noMessage, SUMMARY_ID_PREFIX } from "@stemma/model";
import type { Dialect } from "../../engine/dialect.js";
import { first, type Operation } from "../../engine/operation.js";
import { sameSession } from "../../engine/session-rows.js";
import { damaged } from "./damage.js";
import { sessionOf } from "./row-id.js";

/** Where a message stands, without its content. */
export interface MessagePosition {
  readonly rowId: number;
  readonly id: string;
  readonly branch: number;
  /** Estimated tokens of the visible history up to here, as of when the row was written. */
  readonly total: number | null;
}

/** The columns of a row that a `MessagePosition` has. */
export const POSITION = 'n AS "rowId", id, branch, total';
/** A query of positions, to stand before WHERE. */
export const FIND_POSITION = `SELECT ${POSITION} FROM assistant_messages`;

/** Where a message of the session is, or null. */
export function* findPosition(sessionId: string, id: string): Operation<MessagePosition | null> {
  return (yield* first<MessagePosition>(`${FIND_POSITION} WHERE session_id = ? AND id = ?`, sessionId, id)) ?? null;
}

/** The same, where the id of a summary stands for the last message under it: what a host reads in a history, it may name. */
export function* findNamed(sql: Dialect, sessionId: string, id: string): Operation<MessagePosition | null> {
  if (!isSummaryMessage({ id })) return yield* findPosition(sessionId, id);
  const under = `SELECT m.n AS "rowId", m.id, m.branch, m.total
    FROM assistant_compactions c JOIN assistant_messages m ON ${sameSession(sql, "m", "c")}m.n = c.to_n
    WHERE c.session_id = ? AND c.id = ?`;
  const position = yield* first<MessagePosition>(under, sessionId, id.slice(SUMMARY_ID_PREFIX.length));
  // An upgrade may have brought a message along whose id looks like a summary's.
  return position ?? (yield* findPosition(sessionId, id));
}

/** Errors: `CORRUPT_MESSAGE` for a row of a session that stands among those of another number. */
export function assertWithin(
  session: { readonly sessionNumber: number } | null,
  { rowId, id }: Pick<MessagePosition, "rowId" | "id">,
): void {
  if (session?.sessionNumber === sessionOf(rowId)) return;
  const why =
    session === null
      ? `Message "${id}" is there, but its session's row is not.`
      : `Message "${id}" stands among the rows of another session.`;
  throw damaged({ messageId: id }, why);
}

/** Errors: `MESSAGE_NOT_FOUND`. */
export function messageNotFound(sessionId: string, messageId: string): never {
  throw noMessage(sessionId, messageId);
}
