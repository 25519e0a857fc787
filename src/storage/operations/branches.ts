import type { EncodedMessage } from "../../model/codec.js";
import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import type { Appended, Dialect } from "../engine/dialect.js";
import { all, first, type Operation, tuples } from "../engine/operation.js";
import type { SessionRows } from "../engine/session-rows.js";
import { append } from "./append.js";
import { type ContentTuple, readable, readRows } from "./content.js";
import { damaged } from "./damage.js";
import { readMessage } from "./history.js";
import { ceilingOf, floorOf } from "./row-id.js";
import {
  assertWithin,
  findNamed,
  findSessionHead,
  type MessagePosition,
  messageNotFound,
  openSessionHead,
  POSITION,
  type SessionHead,
  touchSession,
} from "./session-head.js";

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

const WITH_PARENT = `
  SELECT m.n AS n, m.id AS id, m.branch AS branch, m.total AS total,
         m.parent_id AS parent_id, p.n AS parent_n, p.branch AS parent_branch, p.total AS parent_total
  FROM assistant_messages m LEFT JOIN assistant_messages p ON p.session_id = m.session_id AND p.id = m.parent_id
  WHERE m.session_id = ? AND m.id = ?`;

type WithParentRow = [
  n: number,
  id: string,
  branch: number,
  total: number | null,
  parentId: string | null,
  parentN: number | null,
  parentBranch: number,
  parentTotal: number | null,
];

// A message may be named by the summary under which it is the last. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
function* findWithParent(
  sql: Dialect,
  sessionId: string,
  name: string,
): Operation<{ position: MessagePosition; parent: MessagePosition | null }> {
  const named = isSummaryMessage({ id: name }) ? (yield* findNamed(sql, sessionId, name))?.id : name;
  const found = named === undefined ? null : yield* findPositions(sessionId, named);
  if (found === null) return messageNotFound(sessionId, name);
  const { position, parentId, parent } = found;
  if (parentId !== null && (parent === null || parent.rowId >= position.rowId)) {
    throw damaged({ messageId: position.id }, `The parent of message "${position.id}" is not before it.`);
  }
  return { position, parent };
}

/** Where a message is, or null; and its parent, which is null too where the row that it names is not there. */
export function* findPositions(sessionId: string, messageId: string): Operation<MessagePositions | null> {
  const [row] = yield* tuples<WithParentRow>(WITH_PARENT, sessionId, messageId);
  if (row === undefined) return null;
  const [rowId, id, branch, total, parentId, parentN, parentBranch, parentTotal] = row;
  const isThere = parentId !== null && parentN !== null;
  const parent = isThere ? { rowId: parentN, id: parentId, branch: parentBranch, total: parentTotal } : null;
  return { position: { rowId, id, branch, total }, parentId, parent };
}

interface MessagePositions {
  readonly position: MessagePosition;
  readonly parentId: string | null;
  readonly parent: MessagePosition | null;
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
    const [row] = yield* tuples<ChildRow>(
      `SELECT n, content, parent_id FROM assistant_messages
       WHERE ${rows.own}n BETWEEN ? AND ? AND branch = ? ORDER BY n LIMIT 1`,
      ...rows.ids,
      lo,
      ceilingOf(rows.sessionNumber),
      branch,
    );
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
  const behind = yield* tuples<BranchBelow>(
    `SELECT branch, parent_branch, parent_n FROM assistant_branches WHERE ${rows.own}no = ? AND lo > ? ORDER BY lo`,
    ...rows.ids,
    rows.sessionNumber,
    position.rowId,
  );
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
