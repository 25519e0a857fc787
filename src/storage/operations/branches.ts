import type { EncodedMessage } from "../../model/codec.js";
import type { SessionMessage } from "../../model/message.js";
import type { Appended, Dialect } from "../engine/dialect.js";
import { all, first, type Operation, tuples } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { append } from "./append.js";
import { type ContentTuple, readable, readRows } from "./content.js";
import { damaged } from "./damage.js";
import { readMessage } from "./history.js";
import { findWithParent } from "./message-parent.js";
import { assertWithin, findNamed, type MessagePosition, messageNotFound, POSITION } from "./message-position.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { touchSession } from "./session-dates.js";
import { findSessionHead, openSessionHead, type SessionHead } from "./session-head.js";

/** See `SessionStore.branches`. */
export function* readBranches(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage[]> {
  const position = (yield* findNamed(sql, sessionId, id)) ?? messageNotFound(sessionId, id);
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, position);
  const { rows } = head as SessionHead;
  return readable(yield* readRows(rows, yield* findChildren(rows, position)));
}

/** See `SessionStore.siblings`. */
export function* readSiblings(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage[]> {
  const { position, parent } = yield* findWithParent(sql, sessionId, id);
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, position);
  const { rows } = head as SessionHead;
  const children = yield* findChildren(rows, parent);
  if (!children.some(([rowId]) => rowId === position.rowId)) {
    throw damaged({ messageId: position.id }, `Message "${position.id}" does not hang where it says.`);
  }
  return readable(yield* readRows(rows, children));
}

/** See `SessionStore.parent`. */
export function* readParent(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage | null> {
  const { parent } = yield* findWithParent(sql, sessionId, id);
  return parent === null ? null : yield* readMessage(sql, sessionId, parent.id);
}

/** See `SessionStore.appendSibling`. */
export function* appendSibling(
  sql: Dialect,
  sessionId: string,
  id: string,
  message: EncodedMessage,
): Operation<Appended> {
  const { parent } = yield* findWithParent(sql, sessionId, id);
  return yield* append(sql, sessionId, [message], parent?.id ?? null);
}

/** See `SessionStore.selectBranch`. */
export function* selectBranch(sql: Dialect, sessionId: string, messageId: string): Operation<SessionMessage> {
  const position = (yield* findNamed(sql, sessionId, messageId)) ?? messageNotFound(sessionId, messageId);
  const head = yield* openSessionHead(sql, sessionId);
  assertWithin(head, position);
  const leaf = yield* findNewestBelow(sql, head, position);
  yield* touchSession(head.rows, leaf.rowId === head.newest?.rowId ? null : leaf.rowId, head.stale);
  return (yield* readMessage(sql, sessionId, leaf.id)) ?? messageNotFound(sessionId, leaf.id);
}

type ChildRow = [...ContentTuple, parentId: string | null];

// The rows whose parent is `parent`, or those of roots: the next one of its own branch, and the first one of each branch
// that begins below it.
function* findChildren(rows: SessionRows, parent: MessagePosition | null): Operation<ContentTuple[]> {
  const begins = `SELECT branch, lo FROM assistant_branches WHERE ${rows.own}no = ?`;
  const begun =
    parent === null
      ? yield* all<BranchStart>(`${begins} AND parent_n IS NULL`, ...rows.ids, rows.sessionNumber)
      : yield* all<BranchStart>(
          `${begins} AND parent_branch = ? AND parent_n = ?`,
          ...[...rows.ids, rows.sessionNumber, parent.branch, parent.rowId],
        );
  const own =
    parent === null ? { branch: 0, lo: floorOf(rows.sessionNumber) } : { branch: parent.branch, lo: parent.rowId + 1 };
  const parentId = parent?.id ?? null;
  const children: ContentTuple[] = [];
  for (const { branch, lo } of [own, ...begun]) {
    const query = `SELECT n, content, parent_id FROM assistant_messages
       WHERE ${rows.own}n BETWEEN ? AND ? AND branch = ? ORDER BY n LIMIT 1`;
    const [row] = yield* tuples<ChildRow>(query, ...rows.ids, lo, ceilingOf(rows.sessionNumber), branch);
    // Where the parent's own branch ends, none follows; a branch that began below it has one.
    if (row === undefined ? branch !== own.branch : row[2] !== parentId) {
      throw damaged({ messageId: parentId ?? "" }, `What hangs below message "${parentId ?? ""}" does not say so.`);
    }
    if (row !== undefined) children.push([row[0], row[1]]);
  }
  return children.sort(([a], [b]) => a - b);
}

interface BranchStart {
  readonly branch: number;
  readonly lo: number;
}

type BranchBelow = [branch: number, parentBranch: number | null, parentN: number | null];

// The newest row of the branches that `position` leads to: row ids grow along a path, so it is a leaf. Where a branch ends,
// no row says; what is read are the rows that are newer than the leaf, without their content.
function* findNewestBelow(sql: Dialect, head: SessionHead, position: MessagePosition): Operation<MessagePosition> {
  const { rows, newest } = head;
  // A branch begins behind the one that it hangs from, so that one comes first.
  const query = `SELECT branch, parent_branch, parent_n FROM assistant_branches WHERE ${rows.own}no = ? AND lo > ? ORDER BY lo`;
  const behind = yield* tuples<BranchBelow>(query, ...rows.ids, rows.sessionNumber, position.rowId);
  const below = new Set([position.branch]);
  for (const [branch, parentBranch, parentN] of behind) {
    if (parentBranch === null || parentN === null) continue;
    if (below.has(parentBranch) && (parentBranch !== position.branch || parentN >= position.rowId)) below.add(branch);
  }
  if (newest !== null && below.has(newest.branch)) return newest;
  // IS TRUE keeps Postgres from making a join of it.
  const leaf = yield* first<MessagePosition>(
    `SELECT ${POSITION} FROM assistant_messages
     WHERE ${rows.own}n BETWEEN ? AND ? AND (branch IN (SELECT s.branch FROM ${sql.segmentTable} AS s)) IS TRUE
     ORDER BY n DESC LIMIT 1`,
    ...rows.ids,
    position.rowId,
    ceilingOf(rows.sessionNumber),
    JSON.stringify([...below].map((branch) => [branch])),
  );
  return leaf ?? position;
}
