import { cut, searchableText } from "@stemma/model";
import type { TreeNode, TreePage } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { SessionRows } from "../../engine/operation.js";
import { all, type Operation } from "../../engine/operation.js";
import { assertCount } from "../assert-storable.js";
import { type ContentRow, readContent } from "../messages/content.js";
import { damaged, rowAfter } from "../messages/damage.js";
import {
  assertWithin,
  ceilingOf,
  findPosition,
  findSessionHead,
  floorOf,
  messageNotFound,
} from "../registry/session-head.js";

const PREVIEW_LENGTH = 80;
const ROWS_AT_ONCE = 256;

interface TreeRow extends ContentRow {
  readonly id: string;
  readonly parent_id: string | null;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
}

/** The operation behind `SessionStore.tree`. */
export function* readTree(sql: Dialect, sessionId: string): Operation<TreeNode[]> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return [];
  const nodes: TreeNode[] = [];
  const known = new Set<string>();
  let from = floorOf(head.sessionNumber);
  for (;;) {
    const rows = yield* treeRows(head.rows, from, ceilingOf(head.sessionNumber), "ASC", ROWS_AT_ONCE);
    for (const row of rows) {
      if (row.parent_id !== null && !known.has(row.parent_id)) {
        throw damaged({ sessionId, messageId: row.id }, `The parent of message "${row.id}" is not before it.`);
      }
      known.add(row.id);
      nodes.push(yield* treeNode(head.rows, row));
    }
    const last = rows.at(-1);
    if (last === undefined) return nodes;
    from = rowAfter(last.n, from);
  }
}

/** The operation behind `SessionStore.treePage`. */
export function* readTreePage(
  sql: Dialect,
  sessionId: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Operation<TreePage> {
  assertCount(limit, "The limit of a list");
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return after === undefined ? { nodes: [], next: null } : messageNotFound(sessionId, after);
  let last = ceilingOf(head.sessionNumber);
  if (after !== undefined) {
    const position = (yield* findPosition(sessionId, after)) ?? messageNotFound(sessionId, after);
    assertWithin(head, position);
    last = position.rowId - 1;
  }
  const nodes: TreeNode[] = [];
  for (;;) {
    const wanted = limit - nodes.length;
    const length = sql.layout === "local" ? Math.min(wanted, ROWS_AT_ONCE) : wanted;
    const rows = yield* treeRows(head.rows, floorOf(head.sessionNumber), last, "DESC", length + 1);
    for (const row of rows.slice(0, length)) nodes.push(yield* treeNode(head.rows, row));
    if (rows.length <= length) return { nodes, next: null };
    if (nodes.length >= limit) return { nodes, next: nodes.at(-1)?.id ?? null };
    last = (rows[length] as TreeRow).n;
  }
}

function treeRows(
  rows: SessionRows,
  from: number,
  to: number,
  order: "ASC" | "DESC",
  limit: number,
): Operation<TreeRow[]> {
  return all<TreeRow>(
    ...rows.where(
      `SELECT n, id, parent_id, role, dated_at, created_at, content
     FROM assistant_messages`,
      `n BETWEEN ? AND ? ORDER BY n ${order} LIMIT ?`,
      from,
      to,
      limit,
    ),
  );
}

function* treeNode(rows: SessionRows, row: TreeRow): Operation<TreeNode> {
  const message = yield* readContent(rows, row, () => {});
  const text = message === null ? "(cannot be read)" : searchableText(message);
  const preview = cut(text, 0, PREVIEW_LENGTH).toWellFormed();
  return { id: row.id, parentId: row.parent_id, role: row.role, createdAt: row.dated_at ?? row.created_at, preview };
}
