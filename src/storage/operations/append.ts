import type { EncodedMessage } from "../../model/codec.js";
import { reservedId, SUMMARY_ID_PREFIX } from "../../model/message.js";
import { leafMoved } from "../../model/tree-errors.js";
import type { AppendMessageOptions, ParentRef } from "../contract.js";
import type { Appended, Dialect } from "../engine/dialect.js";
import { column, type Operation } from "../engine/operation.js";
import { activeLeaf } from "./active-leaf.js";
import { readMessage } from "./history.js";
import { findNamed, findPosition } from "./message-position.js";
import { appendMessages, setActiveLeaf } from "./messages.js";
import { findSessionHead, openSessionHead } from "./session-head.js";

/** See `SessionStore.append`. `summaryIds` are those of synthetic messages that were passed over. Errors: `INVALID_MESSAGE` for one of no summary. */
export function* append(
  sql: Dialect,
  sessionId: string,
  messages: readonly EncodedMessage[],
  parent: ParentRef,
  summaryIds: readonly string[] = [],
  { expectedLeaf }: AppendMessageOptions = {},
): Operation<Appended> {
  if (summaryIds.length > 0) yield* assertSummaries(sessionId, summaryIds);
  // What inserts nothing changes nothing wherever the leaf is: an append may be repeated.
  if (expectedLeaf !== undefined && (yield* isAnyNew(sessionId, messages))) {
    yield* assertLeaf(sql, sessionId, expectedLeaf);
  }
  if (sql.native !== undefined && messages.length > 1) {
    return yield* sql.native.appendList(sql, sessionId, messages, parent);
  }
  return yield* withStored(sql, sessionId, messages, yield* appendMessages(sql, sessionId, messages, parent));
}

/** `SessionStore.setActiveLeaf`, from the leaf that is expected. Errors: also `LEAF_MOVED`. */
export function* moveLeaf(
  sql: Dialect,
  sessionId: string,
  messageId: string | null,
  { expectedLeaf }: AppendMessageOptions,
): Operation<void> {
  if (expectedLeaf !== undefined) yield* assertLeaf(sql, sessionId, expectedLeaf);
  yield* setActiveLeaf(sql, sessionId, messageId);
}

/** Adds to the result of an append what is stored of a single message that was known. */
export function* withStored(
  sql: Dialect,
  sessionId: string,
  messages: readonly EncodedMessage[],
  result: Appended,
): Operation<Appended> {
  const [one] = messages;
  if (one === undefined || messages.length > 1 || result.inserted[0] === true) return result;
  return { ...result, stored: yield* readMessage(sql, sessionId, one.id) };
}

function* assertSummaries(sessionId: string, summaryIds: readonly string[]): Operation<void> {
  const known = yield* column<string>("SELECT id FROM assistant_compactions WHERE session_id = ?", sessionId);
  const ids = new Set(known.map((id) => SUMMARY_ID_PREFIX + id));
  for (const id of summaryIds) if (!ids.has(id)) throw reservedId(id);
}

// Errors: `LEAF_MOVED`.
function* assertLeaf(sql: Dialect, sessionId: string, expected: string | null): Operation<void> {
  // Other writers wait at a session's row, which an empty session may not have had yet.
  if (expected === null) yield* openSessionHead(sql, sessionId);
  if (expected === null && sql.lockSession !== null) yield* sql.lockSession(sessionId);
  const head = yield* findSessionHead(sql, sessionId);
  const leaf = head === null ? null : yield* activeLeaf(head);
  const named = expected === null ? null : yield* findNamed(sql, sessionId, expected);
  if (expected === null ? leaf === null : named !== null && leaf?.rowId === named.rowId) return;
  throw leafMoved(sessionId, expected, leaf?.id ?? null);
}

function* isAnyNew(sessionId: string, messages: readonly EncodedMessage[]): Operation<boolean> {
  for (const { id } of messages) if ((yield* findPosition(sessionId, id)) === null) return true;
  return false;
}
