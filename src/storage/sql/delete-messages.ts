import { shrinkOverlays } from "./compactions.js";
import { dropContent } from "./content.js";
import type { Dialect } from "./dialect.js";
import { all, first, type Operation, run } from "./operation.js";
import { ceilingOf } from "./position.js";
import { activeLeaf, findPlace, findTip, type Place, type Tip, touchSession } from "./session-row.js";

/** See `MessageStore.delete`. */
export function* deleteMessages(sql: Dialect, sessionId: string, ids: readonly string[]): Operation<string[]> {
  let tip = yield* findTip(sessionId);
  const deleted: string[] = [];
  for (const id of ids) {
    const place = yield* findPlace(sessionId, id);
    if (tip === null || place === null) continue;
    const { leaf, stale } = yield* deleteMessage(sql, sessionId, tip, place);
    yield* touchSession(tip.no, leaf, stale);
    tip = yield* findTip(sessionId);
    deleted.push(id);
  }
  return deleted;
}

// Removes one message: what hung below it hangs below its parent. Gives the session's new leaf and stale mark.
function* deleteMessage(
  sql: Dialect,
  sessionId: string,
  tip: Tip,
  place: Place,
): Operation<{ leaf: number | null; stale: number | null }> {
  const { no } = tip;
  const active = yield* activeLeaf(tip);
  const parent = yield* findParentOf(sessionId, place);
  const next = yield* first<{ n: number }>(
    "SELECT n FROM assistant_messages WHERE n BETWEEN ? AND ? AND branch = ? ORDER BY n LIMIT 1",
    place.n + 1,
    ceilingOf(no),
    place.branch,
  );
  yield* shrinkOverlays(no, place, parent);
  yield* adoptBranches(no, place, parent);
  if (next !== undefined) {
    yield* run("UPDATE assistant_messages SET parent_id = ? WHERE n = ?", parent?.id ?? null, next.n);
  } else if (parent === null || parent.branch !== place.branch) {
    // It was the branch's only message.
    yield* run("DELETE FROM assistant_branches WHERE no = ? AND branch = ?", no, place.branch);
  }
  if (sql.search !== null) yield* sql.search.remove("messages", place.n, place.n);
  yield* dropContent(no, place.n);
  yield* run("DELETE FROM assistant_messages WHERE n = ?", place.n);
  const wasNewest = place.n === tip.newest?.n;
  return {
    leaf: yield* leafAfter(sessionId, active?.n === place.n ? parent : active),
    stale: wasNewest ? tip.stale : (tip.newest?.n ?? null),
  };
}

function* findParentOf(sessionId: string, place: Place): Operation<Place | null> {
  const row = yield* first<{ parent_id: string | null }>(
    "SELECT parent_id FROM assistant_messages WHERE n = ?",
    place.n,
  );
  const parentId = row?.parent_id ?? null;
  return parentId === null ? null : yield* findPlace(sessionId, parentId);
}

// Branches that began below `place` begin below its parent.
function* adoptBranches(no: number, place: Place, parent: Place | null): Operation<void> {
  const children = yield* all<{ branch: number; lo: number }>(
    "SELECT branch, lo FROM assistant_branches WHERE no = ? AND parent_branch = ? AND parent_n = ?",
    no,
    place.branch,
    place.n,
  );
  for (const { branch, lo } of children) {
    yield* run(
      `UPDATE assistant_messages SET parent_id = ?
       WHERE n = (SELECT f.n FROM assistant_messages f WHERE f.n BETWEEN ? AND ? AND f.branch = ? ORDER BY f.n LIMIT 1)`,
      parent?.id ?? null,
      lo,
      ceilingOf(no),
      branch,
    );
    yield* run(
      "UPDATE assistant_branches SET parent_branch = ?, parent_n = ? WHERE no = ? AND branch = ?",
      parent?.branch ?? null,
      parent?.n ?? null,
      no,
      branch,
    );
  }
}

// The leaf is written down only when it is not the newest row.
function* leafAfter(sessionId: string, leaf: Place | null): Operation<number | null> {
  const newest = (yield* findTip(sessionId))?.newest ?? null;
  return newest === null || newest.n === leaf?.n ? null : (leaf?.n ?? 0);
}
