import { searchableText } from "../../model/text.js";
import type { TreeNode } from "../contract.js";
import { all, type Operation } from "../engine/operation.js";
import { type ContentRow, readContent } from "./content.js";
import { damaged, rowAfter } from "./damage.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { findSessionHead } from "./session-head.js";

const PREVIEW_LENGTH = 80;

interface TreeRow extends ContentRow {
  readonly id: string;
  readonly parent_id: string | null;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
}

/** See `SessionStore.tree`. */
export function* readTree(sessionId: string): Operation<TreeNode[]> {
  const head = yield* findSessionHead(sessionId);
  if (head === null) return [];
  const nodes: TreeNode[] = [];
  const known = new Set<string>();
  let from = floorOf(head.no);
  for (;;) {
    const rows = yield* all<TreeRow>(
      `SELECT n, id, parent_id, role, dated_at, created_at, content
       FROM assistant_messages WHERE n BETWEEN ? AND ? ORDER BY n LIMIT 256`,
      from,
      ceilingOf(head.no),
    );
    for (const row of rows) {
      if (row.parent_id !== null && !known.has(row.parent_id)) {
        throw damaged({ sessionId, messageId: row.id }, `The parent of message "${row.id}" is not before it.`);
      }
      known.add(row.id);
      const message = yield* readContent(head.no, row, () => {});
      const text = message === null ? "(cannot be read)" : searchableText(message);
      const preview = text.slice(0, PREVIEW_LENGTH).toWellFormed();
      const createdAt = row.dated_at ?? row.created_at;
      nodes.push({ id: row.id, parentId: row.parent_id, role: row.role, createdAt, preview });
    }
    const last = rows.at(-1);
    if (last === undefined) return nodes;
    from = rowAfter(last.n, from);
  }
}
