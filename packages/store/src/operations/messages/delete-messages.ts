import type { Dialect } from "../../engine/dialect.js";
import { all, type Operation, ownOf, run, type SessionRows } from "../../engine/operation.js";
import { shrinkCompactions } from "../compactions/compactions.js";
import { findPositionAndParent } from "../path/branches.js";
import { forgetLength } from "../path/measures.js";
import { firstOfBranch } from "../path/path.js";
import type { MessagePosition } from "../registry/session-head.js";
import { activeLeaf, ceilingOf, findSessionHead, type SessionHead } from "../registry/session-head.js";
import { touchSession } from "../registry/sessions.js";
import { dropContent } from "./content.js";

/** The operation behind `SessionStore.delete`. */
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
    yield* run(...rows.where("UPDATE assistant_messages SET parent_id = ?", "n = ?", parent?.id ?? null, next.rowId));
  } else if (parent === null || parent.branch !== position.branch) {
    // It was the branch's only message.
    const key = [rows.sessionNumber, position.branch] as const;
    yield* run(...rows.where("DELETE FROM assistant_branches", "no = ? AND branch = ?", ...key));
  }
  if (sql.search !== null) yield* sql.search.remove("messages", sessionId, position.rowId, position.rowId);
  yield* dropContent(rows, position.rowId);
  yield* run(...rows.where("DELETE FROM assistant_messages", "n = ?", position.rowId));
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
  const begin = [
    "no = ? AND parent_branch = ? AND parent_n = ?",
    rows.sessionNumber,
    position.branch,
    position.rowId,
  ] as const;
  const query = rows.where("SELECT branch, lo FROM assistant_branches", ...begin);
  const children = yield* all<{ branch: number; lo: number }>(...query);
  for (const { branch, lo } of children) {
    const child = `SELECT f.n FROM assistant_messages f
         WHERE ${ownOf(rows, "f")}f.n BETWEEN ? AND ? AND f.branch = ? ORDER BY f.n LIMIT 1`;
    const values = [parent?.id ?? null, ...rows.ids, lo, ceilingOf(rows.sessionNumber), branch];
    yield* run(...rows.where("UPDATE assistant_messages SET parent_id = ?", `n = (${child})`, ...values));
    yield* run(
      ...rows.where(
        "UPDATE assistant_branches SET parent_branch = ?, parent_n = ?",
        "no = ? AND branch = ?",
        parent?.branch ?? null,
        parent?.rowId ?? null,
        rows.sessionNumber,
        branch,
      ),
    );
  }
}
