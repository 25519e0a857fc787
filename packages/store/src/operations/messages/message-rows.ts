import type { EncodedMessage } from "@stemma/model";
import { storableText } from "@stemma/model";
import type { Dialect } from "../../engine/dialect.js";
import { count, first, insertEach, type Operation, run, type SqlValue } from "../../engine/operation.js";
import type { SessionRows } from "../../engine/session-rows.js";
import { isoNow } from "../registry/clock.js";
import type { SessionHead } from "../registry/session-head.js";
import { fitsRow, storeContent } from "./media.js";
import { findPosition, type MessagePosition } from "./message-position.js";
import { floorOf, nextPosition } from "./row-id.js";

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
  if (!(goesOn && isWhole && sql.namesKeys) && (yield* findPosition(rows.id, message.id)) !== null) return null;
  const rowId = nextPosition(sessionNumber, newest?.rowId ?? floorOf(sessionNumber));
  const branch = goesOn ? (parent?.branch ?? 0) : yield* branchFor(rows, rowId, newest, parent);
  const position = positionBehind(head, newest, message, parent, branch);
  const content = isWhole ? message.content : yield* storeContent(sql, rows, rowId, message);
  const row = rowOf(sql, head, position, message, parent, content);
  const written = yield* count(sql.keepsText ? INSERT_TEXT : INSERT, row);
  return written === 0 ? null : position;
}

/** So many rows are made at once, of which perhaps only the first are written. */
const AT_ONCE = 100;

/**
 * Writes the rows of some messages from the one at `start` on, which follow each other behind the session's `newest`, as far as
 * each is all that there is to write, up to the first that is known. Gives the positions of those that were written.
 */
export function* insertFollowers(
  sql: Dialect,
  head: SessionHead,
  messages: readonly EncodedMessage[],
  start: number,
  newest: MessagePosition | null,
): Operation<readonly MessagePosition[]> {
  // Where no statement may name a key, each id is looked for.
  if (!sql.namesKeys) return [];
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
  return positions.slice(0, yield* insertEach(sql.keepsText ? INSERT_TEXT : INSERT, rows));
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
  if (sql.keepsText) row.push(storableText(message.text));
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
    const query = `SELECT 1 FROM assistant_messages WHERE ${rows.own}n BETWEEN ? AND ? AND branch = ? LIMIT 1`;
    const sibling = yield* first(query, ...rows.ids, parent.rowId + 1, newest.rowId, parent.branch);
    if (sibling === undefined) return parent.branch;
  }
  const query = `SELECT coalesce(max(branch), 0) AS branch FROM assistant_branches WHERE ${rows.own}no = ?`;
  const last = yield* first<{ branch: number }>(query, ...rows.ids, rows.sessionNumber);
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
