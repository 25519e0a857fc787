import type { RowCounts } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { column, count, type Operation, run, tuples } from "../engine/operation.js";
import { ownOf, type SessionRows } from "../engine/session-rows.js";
import { dropContent } from "./media.js";
import { firstOfBranch } from "./path.js";
import { floorOf } from "./row-id.js";
import type { SessionHead } from "./session-head.js";
import { shrinkToBehind } from "./shrink-compactions.js";

/** What a message weighs more than a row: by its estimated tokens, and for what stands outside its row. */
const TOKENS_OF_A_ROW = 500;
const ROWS_OF_MEDIA = 20;

/** What was removed, and whether that was all. */
export interface RemovedOldest {
  readonly deleted: Partial<RowCounts>;
  readonly done: boolean;
}

/**
 * Removes the oldest messages up to row `last`, about `limit` rows of them. Whatever hung below them becomes a root, and
 * summaries shrink to what is left of their range. The session keeps the date of its latest change.
 */
export function* removeOldest(
  sql: Dialect,
  head: SessionHead,
  { last, limit }: { readonly last: number; readonly limit: number },
): Operation<RemovedOldest> {
  const { rows, newest } = head;
  const floor = floorOf(rows.sessionNumber);
  const step = yield* weigh(rows, floor, last, limit);
  if (step === null) return { deleted: {}, done: true };
  const { cut, messages, done } = step;
  const summaries = yield* shrinkToBehind(rows, cut);
  const branches = yield* cutBranches(rows, cut);
  const media = yield* dropContent(rows, floor, cut);
  if (sql.search !== null) yield* sql.search.remove("messages", rows.id, floor, cut);
  yield* run(`DELETE FROM assistant_messages WHERE ${rows.own}n BETWEEN ? AND ?`, ...rows.ids, floor, cut);
  // Totals of what is left hold what was removed.
  const stale = newest !== null && newest.rowId > cut ? newest.rowId : null;
  const leaf = head.leaf !== null && head.leaf > 0 && head.leaf <= cut ? null : head.leaf;
  const update = `UPDATE assistant_sessions SET leaf = ?, stale = ?, counted_to = NULL, counted = NULL, counted_all = NULL,
       changes = changes + 1 WHERE ${rows.registered}no = ?`;
  yield* run(update, leaf, stale, ...[...rows.ids, rows.sessionNumber]);
  return { deleted: { messages, branches, summaries, media }, done };
}

type Weighed = readonly [n: number, tokens: number, media: number];

// The last row of a step; at least one row is in it. Null where there is none.
function* weigh(
  rows: SessionRows,
  floor: number,
  last: number,
  limit: number,
): Operation<{ cut: number; messages: number; done: boolean } | null> {
  const oldest = yield* tuples<Weighed>(
    `SELECT m.n AS n, m.tokens AS tokens,
       (SELECT count(*) FROM assistant_media_refs r WHERE ${ownOf(rows, "r")}r.no = ? AND r.n = m.n) AS media
     FROM assistant_messages m WHERE ${ownOf(rows, "m")}m.n BETWEEN ? AND ? ORDER BY m.n LIMIT ?`,
    ...[...rows.ids, rows.sessionNumber],
    ...[...rows.ids, floor, last, limit],
  );
  let weight = 0;
  let messages = 0;
  for (const [, tokens, media] of oldest) {
    weight += 1 + tokens / TOKENS_OF_A_ROW + Number(media) * ROWS_OF_MEDIA;
    if (messages > 0 && weight > limit) break;
    messages += 1;
  }
  const end = oldest[messages - 1];
  return end === undefined ? null : { cut: end[0], messages, done: messages === oldest.length && messages < limit };
}

// Branches that lose all of their rows go. What goes on behind the cut begins there, as a root. Gives how many went.
function* cutBranches(rows: SessionRows, cut: number): Operation<number> {
  const { own, ids, sessionNumber } = rows;
  const removed = `SELECT DISTINCT branch FROM assistant_messages WHERE ${own}n BETWEEN ? AND ?`;
  const below = `SELECT branch FROM assistant_branches WHERE ${own}no = ? AND parent_n <= ?`;
  const touched = new Set([
    ...(yield* column<number>(removed, ...ids, floorOf(sessionNumber), cut)),
    ...(yield* column<number>(below, ...ids, sessionNumber, cut)),
  ]);
  let gone = 0;
  for (const branch of touched) {
    const next = yield* firstOfBranch(rows, branch, cut + 1);
    if (next !== undefined) {
      yield* run(`UPDATE assistant_messages SET parent_id = NULL WHERE ${own}n = ?`, ...ids, next.rowId);
    } else {
      const removal = `DELETE FROM assistant_branches WHERE ${own}no = ? AND branch = ?`;
      gone += yield* count(removal, [...ids, sessionNumber, branch]);
    }
  }
  const update = `UPDATE assistant_branches SET parent_branch = NULL, parent_n = NULL WHERE ${own}no = ? AND parent_n <= ?`;
  yield* run(update, ...[...ids, sessionNumber, cut]);
  return gone;
}
