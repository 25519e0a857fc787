import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation, ownOf, run, type SessionRows } from "../../engine/operation.js";
import { shrinkCompactions } from "../compactions/compactions.js";
import { forgetLength } from "../path/measures.js";
import { firstOfBranch } from "../path/path.js";
import type { MessagePosition } from "../registry/session-head.js";
import { activeLeaf, ceilingOf, findSessionHead, type SessionHead } from "../registry/session-head.js";
import { touchSession } from "../registry/sessions.js";
import { dropContent } from "./content.js";
import { findPositionAndParent } from "./message-parent.js";

/** See `SessionStore.delete`. */
export function* deleteMessages(sql: Dialect, sessionId: string, ids: readonly string[]): Operation<string[]> {
  let head = yield* findSessionHead(sql, sessionId);
  const deleted: string[] = [];
  for (const id of ids) {
    const found = head === null ? null : yield* findPositionAndParent(sessionId, id);
    if (head === null || found === null) continue;
    head = yield* deleteMessage(sql, sessionId, head, found.position, found.parent);
    deleted.push(id);
  }
  if (head !== null && deleted.length > 0) {
    yield* forgetLength(head.rows);
    yield* touchSession(head.rows, head.leaf, head.stale);
  }
  return deleted;
}

// Removes one message: what hung below it hangs below its parent. Gives what the session's row is to say after that.
function* deleteMessage(
  sql: Dialect,
  sessionId: string,
  head: SessionHead,
  position: MessagePosition,
  parent: MessagePosition | null,
): Operation<SessionHead> {
  const { rows } = head;
  const active = yield* activeLeaf(head);
  const next = yield* firstOfBranch(rows, position.branch, position.rowId + 1);
  yield* shrinkCompactions(rows, position, parent);
  yield* adoptBranches(rows, position, parent);
  if (next !== undefined) {
    const hang = `UPDATE assistant_messages SET parent_id = ? WHERE ${rows.own}n = ?`;
    yield* run(hang, parent?.id ?? null, ...rows.ids, next.rowId);
  } else if (parent === null || parent.branch !== position.branch) {
    // It was the branch's only message.
    const branch = `DELETE FROM assistant_branches WHERE ${rows.own}no = ? AND branch = ?`;
    yield* run(branch, ...rows.ids, rows.sessionNumber, position.branch);
  }
  if (sql.search !== null) yield* sql.search.remove("messages", sessionId, position.rowId, position.rowId);
  yield* dropContent(rows, position.rowId);
  yield* run(`DELETE FROM assistant_messages WHERE ${rows.own}n = ?`, ...rows.ids, position.rowId);
  const wasNewest = position.rowId === head.newest?.rowId;
  const newest = wasNewest ? ((yield* findSessionHead(sql, sessionId))?.newest ?? null) : head.newest;
  const leaf = active?.rowId === position.rowId ? parent : active;
  return {
    ...head,
    newest,
    // Written down only when it is not the newest row.
    leaf: newest === null || newest.rowId === leaf?.rowId ? null : (leaf?.rowId ?? 0),
    stale: wasNewest ? head.stale : (newest?.rowId ?? null),
  };
}

// Branches that began below `position` begin below its parent.
function* adoptBranches(rows: SessionRows, position: MessagePosition, parent: MessagePosition | null): Operation<void> {
  const query = `SELECT branch, lo FROM assistant_branches WHERE ${rows.own}no = ? AND parent_branch = ? AND parent_n = ?`;
  const values = [...rows.ids, rows.sessionNumber, position.branch, position.rowId];
  const children = yield* all<{ branch: number; lo: number }>(query, ...values);
  for (const { branch, lo } of children) {
    const update = `UPDATE assistant_messages SET parent_id = ?
       WHERE ${rows.own}n = (SELECT f.n FROM assistant_messages f
         WHERE ${ownOf(rows, "f")}f.n BETWEEN ? AND ? AND f.branch = ? ORDER BY f.n LIMIT 1)`;
    yield* run(update, ...[parent?.id ?? null, ...rows.ids, ...rows.ids], lo, ceilingOf(rows.sessionNumber), branch);
    const hang = `UPDATE assistant_branches SET parent_branch = ?, parent_n = ? WHERE ${rows.own}no = ? AND branch = ?`;
    yield* run(hang, parent?.branch ?? null, parent?.rowId ?? null, ...rows.ids, rows.sessionNumber, branch);
  }
}
