import type { EncodedMessage } from "../../model/codec.js";
import { storableText } from "../../model/storable-text.js";
import { searchDocument } from "../../model/text.js";
import { noParent } from "../../model/tree-errors.js";
import { type ParentRef, promptKey, TURNS, type UpsertResult } from "../contract.js";
import type { Appended, Dialect, EncodedTree } from "../engine/dialect.js";
import { column, first, type Operation, run } from "../engine/operation.js";
import type { IndexedDocument } from "../engine/search-dialect.js";
import type { SessionRows } from "../engine/session-rows.js";
import { activeLeaf, NO_LEAF } from "./active-leaf.js";
import { removeBlock } from "./block-row.js";
import { dropContent, storeContent } from "./media.js";
import { findNamed, findPosition, type MessagePosition, messageNotFound } from "./message-position.js";
import { currentTotal, insertFollowers, insertRow } from "./message-rows.js";
import { removeRecords } from "./records.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { inPortions } from "./row-portions.js";
import { indexChanged, indexWritten, isLarge } from "./search/unindexed.js";
import { touchSession } from "./session-dates.js";
import { dateAppend, findSessionHead, openSessionHead, type SessionHead } from "./session-head.js";

const UPDATE = "UPDATE assistant_messages SET role = ?, tokens = ?, total = ?, dated_at = ?, content = ?";
const UPDATE_TEXT = `${UPDATE}, text_content = ?`;

/** See `SessionStore.append`. */
export function* appendMessages(
  sql: Dialect,
  sessionId: string,
  messages: readonly EncodedMessage[],
  parent: ParentRef,
): Operation<Appended> {
  const head = messages.length > 0 ? yield* openSessionHead(sql, sessionId) : yield* findSessionHead(sql, sessionId);
  if (head === null) return { inserted: [], lastId: null, visibleTokens: 0 };
  const inserted: boolean[] = [];
  const written: IndexedDocument[] = [];
  let newest = head.newest;
  let last: MessagePosition | null = null;
  for (let next = 0; next < messages.length; next += 1) {
    const below: MessagePosition | null =
      next > 0 ? last : yield* findParent(sql, sessionId, head, parent, (messages[next] as EncodedMessage).id);
    const isBehindAll = below?.rowId === newest?.rowId;
    const positions: readonly MessagePosition[] = isBehindAll
      ? yield* insertFollowers(sql, head, messages, next, newest)
      : [];
    for (const position of positions) {
      written.push(documentAt(head, position, messages[next] as EncodedMessage));
      inserted.push(true);
      newest = last = position;
      next += 1;
    }
    const message = messages[next];
    if (message === undefined) break;
    const position: MessagePosition | null = yield* insertRow(
      sql,
      head,
      newest,
      message,
      positions.length > 0 ? last : below,
    );
    inserted.push(position !== null);
    if (position !== null) written.push(documentAt(head, position, message));
    newest = position ?? newest;
    last = position ?? (yield* findPosition(sessionId, message.id));
  }
  yield* noteWritten(sql, head, written);
  const end: MessagePosition | null = written.length > 0 ? newest : yield* activeLeaf(head);
  return { inserted, lastId: end?.id ?? null, visibleTokens: end === null ? 0 : currentTotal(head, end) };
}

/** Writes messages, each below its own parent. Gives how many were inserted. */
export function* importMessages(sql: Dialect, sessionId: string, messages: EncodedTree["messages"]): Operation<number> {
  const head = yield* openSessionHead(sql, sessionId);
  const written: IndexedDocument[] = [];
  let newest = head.newest;
  let previous: MessagePosition | null = null;
  for (const { message, parentId } of messages) {
    const below: MessagePosition | null =
      previous !== null && previous.id === parentId
        ? previous
        : yield* findParent(sql, sessionId, head, parentId, message.id);
    const position: MessagePosition | null = yield* insertRow(sql, head, newest, message, below);
    if (position === null) continue;
    previous = newest = position;
    written.push(documentAt(head, position, message));
  }
  yield* noteWritten(sql, head, written);
  return written.length;
}

/** See `SessionStore.update`. */
export function* updateMessage(sql: Dialect, sessionId: string, message: EncodedMessage): Operation<void> {
  const position = (yield* findPosition(sessionId, message.id)) ?? messageNotFound(sessionId, message.id);
  yield* replaceMessage(sql, yield* openSessionHead(sql, sessionId), position, message);
}

/** See `SessionStore.upsert`. */
export function* upsertMessage(
  sql: Dialect,
  sessionId: string,
  message: EncodedMessage,
  parent: ParentRef,
): Operation<UpsertResult> {
  const position = yield* findPosition(sessionId, message.id);
  if (position === null) {
    const { visibleTokens } = yield* appendMessages(sql, sessionId, [message], parent);
    return { inserted: true, visibleTokens };
  }
  const head = yield* openSessionHead(sql, sessionId);
  const { total, stale } = yield* replaceMessage(sql, head, position, message);
  const { newest } = head;
  // Where another leaf was chosen, finding it would cost every upsert a statement.
  if (head.leaf !== null || newest === null) return { inserted: false, visibleTokens: null };
  const leaf = newest.rowId === position.rowId ? { ...position, total } : newest;
  return { inserted: false, visibleTokens: currentTotal({ stale }, leaf) };
}

/** See `SessionStore.setActiveLeaf`. */
export function* setActiveLeaf(sql: Dialect, sessionId: string, messageId: string | null): Operation<void> {
  if (messageId === null) {
    const head = yield* findSessionHead(sql, sessionId);
    if (head?.newest) yield* touchSession(head.rows, NO_LEAF, head.stale);
    return;
  }
  const position = (yield* findNamed(sql, sessionId, messageId)) ?? messageNotFound(sessionId, messageId);
  const head = yield* openSessionHead(sql, sessionId);
  yield* touchSession(head.rows, position.rowId === head.newest?.rowId ? null : position.rowId, head.stale);
}

/** See `SessionStore.clear`. The running numbers start again; nothing refers to the old ones. */
export function* clearMessages(sql: Dialect, sessionId: string): Operation<boolean> {
  const head = yield* findSessionHead(sql, sessionId);
  const wasFrozen = yield* removeBlock(promptKey(sessionId));
  if (head === null) return wasFrozen;
  const { rows } = head;
  yield* removeRecords(sessionId, TURNS);
  yield* removeRows(sql, rows);
  yield* run(
    `UPDATE assistant_sessions SET skills = NULL, counted_to = NULL, counted = NULL, counted_all = NULL
     WHERE ${rows.registered}no = ?`,
    ...[...rows.ids, rows.sessionNumber],
  );
  yield* touchSession(rows, null, null);
  return wasFrozen;
}

/** Removes everything that is kept by a session's number. */
export function* removeRows(sql: Dialect, rows: SessionRows): Operation<void> {
  const { id, sessionNumber, own, ids } = rows;
  const range = [floorOf(sessionNumber), ceilingOf(sessionNumber)] as const;
  if (sql.search !== null) yield* sql.search.remove("messages", id, ...range);
  if (sql.isInProcess) yield* removeInPortions(sql, rows, range);
  yield* run(`DELETE FROM assistant_messages WHERE ${own}n BETWEEN ? AND ?`, ...ids, ...range);
  yield* run(`DELETE FROM assistant_compactions WHERE ${own}n BETWEEN ? AND ?`, ...ids, ...range);
  yield* run(`DELETE FROM assistant_branches WHERE ${own}no = ?`, ...ids, sessionNumber);
  yield* run(`DELETE FROM assistant_media_refs WHERE ${own}no = ?`, ...ids, sessionNumber);
  yield* run(`DELETE FROM assistant_media WHERE ${own}no = ?`, ...ids, sessionNumber);
}

// What is left after that is little, or damage.
function* removeInPortions(sql: Dialect, rows: SessionRows, range: readonly [number, number]): Operation<void> {
  const end = (which: "min" | "max") =>
    `SELECT ${which}(n) AS n FROM assistant_messages WHERE ${rows.own}n BETWEEN ? AND ?`;
  const [lo = 0] = yield* column<number | null>(end("min"), ...rows.ids, ...range);
  const [hi = 0] = yield* column<number | null>(end("max"), ...rows.ids, ...range);
  if (lo === null || hi === null) return;
  yield* inPortions(sql, [{ branch: 0, lo, hi }], function* ([{ lo, hi }]) {
    yield* dropContent(rows, lo, hi);
    yield* run(`DELETE FROM assistant_messages WHERE ${rows.own}n BETWEEN ? AND ?`, ...rows.ids, lo, hi);
  });
}

function documentAt({ rows }: SessionHead, { rowId }: MessagePosition, message: EncodedMessage): IndexedDocument {
  return { sessionId: rows.id, rowId, document: searchDocument(message), isLarge: isLarge(message) };
}

// The parent of a message that is known does not matter, so it need not be there.
function* findParent(
  sql: Dialect,
  sessionId: string,
  head: SessionHead,
  parent: ParentRef,
  messageId: string,
): Operation<MessagePosition | null> {
  if (parent === undefined) return yield* activeLeaf(head);
  if (parent === null) return null;
  const position = yield* findNamed(sql, sessionId, parent);
  if (position !== null || (yield* findPosition(sessionId, messageId)) !== null) return position;
  throw noParent({ sessionId, parentId: parent });
}

// Gives the message's running total, and up to which row totals are stale now.
function* replaceMessage(
  sql: Dialect,
  head: SessionHead,
  position: MessagePosition,
  message: EncodedMessage,
): Operation<{ total: number | null; stale: number | null }> {
  const { rows, newest } = head;
  const at = [...rows.ids, position.rowId] as const;
  const old = yield* first<{ tokens: number }>(`SELECT tokens FROM assistant_messages WHERE ${rows.own}n = ?`, ...at);
  const change = message.tokens - (old?.tokens ?? 0);
  const before = currentTotal(head, position);
  const total = before === null ? null : before + change;
  yield* dropContent(rows, position.rowId);
  const content = yield* storeContent(sql, rows, position.rowId, message);
  const values = [message.role, message.tokens, total, message.createdAt, content];
  if (sql.keepsText) values.push(storableText(message.text));
  yield* run(`${sql.keepsText ? UPDATE_TEXT : UPDATE} WHERE ${rows.own}n = ?`, ...values, ...at);
  if (sql.markEdited !== null) yield* sql.markEdited(rows, position.rowId);
  if (sql.search !== null) yield* indexChanged(sql, sql.search, documentAt(head, position, message));
  // Totals of later rows hold this message's old size; the newest row has none after it.
  const stale = change !== 0 && newest !== null && position.rowId !== newest.rowId ? newest.rowId : head.stale;
  yield* touchSession(rows, head.leaf, stale);
  return { total, stale };
}

// What follows new rows, the newest of which is the leaf again.
function* noteWritten(sql: Dialect, head: SessionHead, written: readonly IndexedDocument[]): Operation<void> {
  if (written.length === 0) return;
  if (sql.search !== null) yield* indexWritten(sql, sql.search, written);
  yield* dateAppend(head);
  const { registered, ids, sessionNumber } = head.rows;
  if (head.leaf !== null)
    yield* run(`UPDATE assistant_sessions SET leaf = NULL WHERE ${registered}no = ?`, ...ids, sessionNumber);
}
