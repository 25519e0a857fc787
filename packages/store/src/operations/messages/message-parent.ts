import { isSummaryMessage } from "@stemma/model";
import type { Dialect } from "../../engine/dialect.js";
import { type Operation, tuples } from "../../engine/operation.js";
import { findNamed, type MessagePosition, messageNotFound } from "../registry/session-head.js";
import { damaged } from "./damage.js";

const COLUMNS = `m.n AS n, m.id AS id, m.branch AS branch, m.total AS total,
         m.parent_id AS parent_id, p.n AS parent_n, p.branch AS parent_branch, p.total AS parent_total`;
const PARENT = "LEFT JOIN assistant_messages p ON p.session_id = m.session_id AND p.id = m.parent_id";
const WITH_PARENT = `
  SELECT ${COLUMNS}
  FROM assistant_messages m ${PARENT}
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

/** A message may be named by the summary under which it is the last. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
export function* findWithParent(sql: Dialect, sessionId: string, name: string): Operation<WithParent> {
  const named = isSummaryMessage({ id: name }) ? (yield* findNamed(sql, sessionId, name))?.id : name;
  const found = named === undefined ? null : yield* findPositionAndParent(sessionId, named);
  if (found === null) return messageNotFound(sessionId, name);
  return inOrder(found);
}

/** Several messages with their parents, in any order, without those that are not there. A summary's id names none. */
export function* findAllWithParents(sql: Dialect, sessionId: string, ids: readonly string[]): Operation<WithParent[]> {
  const query = `SELECT ${COLUMNS} FROM ${sql.textTable} AS g CROSS JOIN assistant_messages m ${PARENT}
    WHERE m.session_id = ? AND m.id = g.text`;
  const rows = yield* tuples<WithParentRow>(query, JSON.stringify([...new Set(ids)]), sessionId);
  return rows.map((row) => inOrder(readRow(row)));
}

function inOrder({ position, parentId, parent }: PositionAndParent): WithParent {
  if (parentId !== null && (parent === null || parent.rowId >= position.rowId)) {
    throw damaged({ messageId: position.id }, `The parent of message "${position.id}" is not before it.`);
  }
  return { position, parent };
}

/** Where a message is, or null; and its parent, which is null too where the row that it names is not there. */
export function* findPositionAndParent(sessionId: string, messageId: string): Operation<PositionAndParent | null> {
  const [row] = yield* tuples<WithParentRow>(WITH_PARENT, sessionId, messageId);
  return row === undefined ? null : readRow(row);
}

function readRow(row: WithParentRow): PositionAndParent {
  const [rowId, id, branch, total, parentId, parentN, parentBranch, parentTotal] = row;
  const isThere = parentId !== null && parentN !== null;
  const parent = isThere ? { rowId: parentN, id: parentId, branch: parentBranch, total: parentTotal } : null;
  return { position: { rowId, id, branch, total }, parentId, parent };
}

export interface WithParent {
  readonly position: MessagePosition;
  /** Null for a root. */
  readonly parent: MessagePosition | null;
}

interface PositionAndParent extends WithParent {
  readonly parentId: string | null;
}
