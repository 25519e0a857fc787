// All ways of writing messages, which end in one row.
import { type EncodedMessage, leafMoved, noParent, reservedId, SUMMARY_ID_PREFIX, storableText } from "@stemma/model";
import {
  type AppendMessageOptions,
  type ParentRef,
  promptKey,
  TURNS,
  type UpsertResult,
} from "../../contract/store.js";
import type { Appended, Dialect, EncodedTree, IndexedDocument } from "../../engine/dialect.js";
import {
  column,
  count,
  first,
  insertEach,
  type Operation,
  oneNumber,
  run,
  type SessionRows,
  type SqlValue,
} from "../../engine/operation.js";
import { removeBlock } from "../memory/blocks.js";
import { removeRecords } from "../memory/records.js";
import { readMessage } from "../path/path.js";
import {
  activeLeaf,
  ceilingOf,
  dateAppend,
  findNamed,
  findPosition,
  findSessionHead,
  floorOf,
  isoNow,
  type MessagePosition,
  messageNotFound,
  NO_LEAF,
  nextPosition,
  openSessionHead,
  type SessionHead,
} from "../registry/session-head.js";
import { touchSession } from "../registry/sessions.js";
import { inPortions } from "../row-portions.js";
import { indexChanged, indexWritten, isLarge } from "../search/index-rows.js";
import { dropContent, fitsRow, storeContent } from "./content.js";

const UPDATE = "UPDATE assistant_messages SET role = ?, tokens = ?, total = ?, dated_at = ?, content = ?";
const UPDATE_TEXT = `${UPDATE}, text_content = ?`;

/** The operation behind `SessionStore.append`. */
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

/** The operation behind `SessionStore.update`. */
export function* updateMessage(sql: Dialect, sessionId: string, message: EncodedMessage): Operation<void> {
  const position = (yield* findPosition(sessionId, message.id)) ?? messageNotFound(sessionId, message.id);
  yield* replaceMessage(sql, yield* openSessionHead(sql, sessionId), position, message);
}

/** The operation behind `SessionStore.upsert`. */
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

/** The operation behind `SessionStore.setActiveLeaf`. */
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

/** The operation behind `SessionStore.clear`. The running numbers start again; nothing refers to the old ones. */
export function* clearMessages(sql: Dialect, sessionId: string): Operation<boolean> {
  const head = yield* findSessionHead(sql, sessionId);
  const wasFrozen = yield* removeBlock(promptKey(sessionId));
  if (head === null) return wasFrozen;
  const { rows } = head;
  yield* removeRecords(sessionId, TURNS);
  yield* removeRows(sql, rows);
  const forget = "UPDATE assistant_sessions SET skills = NULL, counted_to = NULL, counted = NULL, counted_all = NULL";
  yield* run(...rows.whereRegistered(forget));
  yield* touchSession(rows, null, null);
  return wasFrozen;
}

/** Removes everything that is kept by a session's number. */
export function* removeRows(sql: Dialect, rows: SessionRows): Operation<void> {
  const { id, sessionNumber } = rows;
  const range = [floorOf(sessionNumber), ceilingOf(sessionNumber)] as const;
  if (sql.search !== null) yield* sql.search.remove("messages", id, ...range);
  if (sql.layout === "local") yield* removeInPortions(sql, rows, range);
  yield* run(...rows.where("DELETE FROM assistant_messages", "n BETWEEN ? AND ?", ...range));
  yield* run(...rows.where("DELETE FROM assistant_compactions", "n BETWEEN ? AND ?", ...range));
  yield* run(...rows.whereNumber("DELETE FROM assistant_branches"));
  yield* run(...rows.whereNumber("DELETE FROM assistant_media_refs"));
  yield* run(...rows.whereNumber("DELETE FROM assistant_media"));
}

// What is left after that is little, or damage.
function* removeInPortions(sql: Dialect, rows: SessionRows, range: readonly [number, number]): Operation<void> {
  const end = (which: "min" | "max") =>
    rows.where(`SELECT ${which}(n) AS n FROM assistant_messages`, "n BETWEEN ? AND ?", ...range);
  const [lo = 0] = yield* column<number | null>(...end("min"));
  const [hi = 0] = yield* column<number | null>(...end("max"));
  if (lo === null || hi === null) return;
  yield* inPortions(sql, [{ branch: 0, lo, hi }], function* ([{ lo, hi }]) {
    yield* dropContent(rows, lo, hi);
    yield* run(...rows.where("DELETE FROM assistant_messages", "n BETWEEN ? AND ?", lo, hi));
  });
}

function documentAt({ rows }: SessionHead, { rowId }: MessagePosition, message: EncodedMessage): IndexedDocument {
  return { sessionId: rows.id, rowId, document: message.document, isLarge: isLarge(message) };
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
  const { rowId } = position;
  const old = yield* oneNumber(...rows.where("SELECT tokens FROM assistant_messages", "n = ?", rowId));
  const change = message.tokens - old;
  const before = currentTotal(head, position);
  const total = before === null ? null : before + change;
  yield* dropContent(rows, position.rowId);
  const content = yield* storeContent(sql, rows, position.rowId, message);
  const values = [message.role, message.tokens, total, message.createdAt, content];
  if (sql.layout !== "local") values.push(storableText(message.text));
  yield* run(...rows.where(sql.layout === "local" ? UPDATE : UPDATE_TEXT, "n = ?", ...values, rowId));
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
  if (head.leaf !== null) yield* run(...head.rows.whereRegistered("UPDATE assistant_sessions SET leaf = NULL"));
}

/** The operation behind `SessionStore.append`. `summaryIds` are those of synthetic messages that were passed over. Errors: `INVALID_MESSAGE` for one of no summary. */
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

// The rows that messages are written into, and the branches that they begin.

const COLUMNS = "n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content";
const INSERT = `INSERT INTO assistant_messages (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, id) DO NOTHING`;
// Names no key, as nothing that runs on Postgres does: an owner may put a tenant before its columns. A row that is there
// already is of a writer that made the session at the same time: the transaction is run again, and waits for that one.
const INSERT_TEXT = `INSERT INTO assistant_messages (${COLUMNS}, text_content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
/** The running total up to a message, or null when something before it changed since it was written. */
export function currentTotal(head: { stale: number | null }, position: MessagePosition): number | null {
  return head.stale !== null && position.rowId <= head.stale ? null : position.total;
}

/**
 * Writes the row of one message below `parent`, behind the session's `newest`, and leaves it to the caller to index it. Null
 * when its id is known: then it writes nothing.
 */
export function* insertRow(
  sql: Dialect,
  head: SessionHead,
  newest: MessagePosition | null,
  message: EncodedMessage,
  parent: MessagePosition | null,
): Operation<MessagePosition | null> {
  const { rows, sessionNumber } = head;
  const goesOn = parent?.rowId === newest?.rowId;
  const isWhole = fitsRow(sql, message);
  // Of a row that is all there is to write, the unique index tells that its id is known, where a statement may name it.
  if (!(goesOn && isWhole && sql.layout === "local") && (yield* findPosition(rows.id, message.id)) !== null)
    return null;
  const rowId = nextPosition(sessionNumber, newest?.rowId ?? floorOf(sessionNumber));
  const branch = goesOn ? (parent?.branch ?? 0) : yield* branchFor(rows, rowId, newest, parent);
  const position = positionBehind(head, newest, message, parent, branch);
  const content = isWhole ? message.content : yield* storeContent(sql, rows, rowId, message);
  const row = rowOf(sql, head, position, message, parent, content);
  const written = yield* count(sql.layout === "local" ? INSERT : INSERT_TEXT, ...row);
  return written === 0 ? null : position;
}

/** So many rows are made at once, of which perhaps only the first are written. */
const AT_ONCE = 100;

/**
 * Writes the rows of some messages from the one at `start` on, which follow each other behind the session's `newest`, as far as
 * each is all that there is to write, up to the first that is known. Gives the positions of those that were written.
 */
function* insertFollowers(
  sql: Dialect,
  head: SessionHead,
  messages: readonly EncodedMessage[],
  start: number,
  newest: MessagePosition | null,
): Operation<readonly MessagePosition[]> {
  // Where no statement may name a key, each id is looked for.
  if (sql.layout !== "local") return [];
  const positions: MessagePosition[] = [];
  const rows: SqlValue[][] = [];
  let last = newest;
  for (const message of messages.slice(start, start + AT_ONCE)) {
    if (!fitsRow(sql, message)) break;
    const position = positionBehind(head, last, message, last, last?.branch ?? 0);
    rows.push(rowOf(sql, head, position, message, last, message.content));
    positions.push(position);
    last = position;
  }
  return positions.slice(0, yield* insertEach(sql.layout === "local" ? INSERT : INSERT_TEXT, rows));
}

function positionBehind(
  head: SessionHead,
  newest: MessagePosition | null,
  { id, tokens }: EncodedMessage,
  parent: MessagePosition | null,
  branch: number,
): MessagePosition {
  const before = parent === null ? 0 : currentTotal(head, parent);
  const rowId = nextPosition(head.sessionNumber, newest?.rowId ?? floorOf(head.sessionNumber));
  return { rowId, id, branch, total: before === null ? null : before + tokens };
}

// In the order of `COLUMNS`.
function rowOf(
  sql: Dialect,
  { rows }: SessionHead,
  { rowId, id, branch, total }: MessagePosition,
  message: EncodedMessage,
  parent: MessagePosition | null,
  content: string,
): SqlValue[] {
  const { role, tokens, createdAt } = message;
  const row = [rowId, id, rows.id, parent?.id ?? null, role, isoNow(), branch, tokens, total, createdAt, content];
  if (sql.layout !== "local") row.push(storableText(message.text));
  return row;
}

// A message goes on with its parent's branch unless another message does so already.
function* branchFor(
  rows: SessionRows,
  rowId: number,
  newest: MessagePosition | null,
  parent: MessagePosition | null,
): Operation<number> {
  if (newest === null) return 0;
  if (parent !== null) {
    const sibling = yield* first(
      ...rows.where(
        "SELECT 1 FROM assistant_messages",
        "n BETWEEN ? AND ? AND branch = ? LIMIT 1",
        parent.rowId + 1,
        newest.rowId,
        parent.branch,
      ),
    );
    if (sibling === undefined) return parent.branch;
  }
  const last = yield* first<{ branch: number }>(
    ...rows.whereNumber("SELECT coalesce(max(branch), 0) AS branch FROM assistant_branches"),
  );
  const branch = Number(last?.branch ?? 0) + 1;
  yield* run(
    `INSERT INTO assistant_branches (${rows.column}no, branch, lo, parent_branch, parent_n)
     VALUES (${rows.mark}?, ?, ?, ?, ?)`,
    ...[...rows.ids, rows.sessionNumber],
    branch,
    rowId,
    parent?.branch ?? null,
    parent?.rowId ?? null,
  );
  return branch;
}
