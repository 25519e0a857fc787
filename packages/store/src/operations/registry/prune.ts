import type { Pruned, PruneRequest, PruneVersionsRequest, RowCounts } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import {
  all,
  column,
  count,
  first,
  type Operation,
  ownOf,
  run,
  type SessionRows,
  tuples,
} from "../../engine/operation.js";
import { assertCount } from "../assert-storable.js";
import { shrinkToBehind } from "../compactions/compactions.js";
import { removeEntry } from "../memory/entry-rows.js";
import { PROGRAMS_OWN } from "../memory/records.js";
import { dropContent } from "../messages/content.js";
import { firstOfBranch } from "../path/path.js";
import { countRows, deleteSession, findErased } from "./erase.js";
import { ceilingOf, findSessionHead, floorOf, NO_LEAF, type SessionHead } from "./session-head.js";
import { readSession } from "./sessions.js";

const NOTHING: Pruned = { deleted: {}, done: true };

/** The operation behind `SessionRegistry.prune`. */
export function* pruneSession(
  sql: Dialect,
  id: string,
  { changedBefore, keepMessages, limit, dryRun = false }: PruneRequest,
  userId?: string,
): Operation<Pruned> {
  assertCount(limit, "The limit of prune()");
  assertCount(keepMessages, "The keepMessages of prune()");
  const info = yield* readSession(sql, id, userId);
  const head = info === null ? null : yield* findSessionHead(sql, id);
  if (info === null || head === null) return NOTHING;
  if (changedBefore !== undefined && info.updated_at < changedBefore) {
    if (dryRun) return { deleted: yield* countRows(sql, yield* findErased(sql, id)), done: true };
    return yield* removeSome(sql, id, head, limit);
  }
  const last = keepMessages === undefined ? null : yield* lastToRemove(head, keepMessages);
  if (last === null) return NOTHING;
  if (!dryRun) return yield* removeOldest(sql, head, { last, limit });
  return { deleted: yield* countUpTo(head, last), done: true };
}

// A session that is small goes at once. Of a large one its oldest messages go first, then the rest, some at a time: if someone
// goes on with it meanwhile, what is left is a session.
function* removeSome(sql: Dialect, id: string, head: SessionHead, limit: number): Operation<Pruned> {
  const range = [floorOf(head.sessionNumber), ceilingOf(head.sessionNumber)] as const;
  const messages = yield* removeOldest(sql, head, { last: range[1], limit });
  if (!messages.done) return messages;
  for (const { kind, table, key, condition } of KEPT) {
    const some = `SELECT ${key} FROM ${table} WHERE session_id = ? AND ${condition} LIMIT ?`;
    const more = yield* first(`${some} OFFSET ?`, id, 1, limit);
    if (more === undefined) continue;
    const removed = `DELETE FROM ${table} WHERE session_id = ? AND (${key}) IN (${some})`;
    return { deleted: { ...messages.deleted, [kind]: yield* count(removed, id, id, limit) }, done: false };
  }
  const query = "SELECT n FROM cf_agents_search_entries WHERE session_id = ? LIMIT ?";
  const entries = yield* column<number>(query, ...[id, limit]);
  for (const rowId of entries) yield* removeEntry(sql, id, rowId);
  if (entries.length === limit) return { deleted: { ...messages.deleted, entries: limit }, done: false };
  const { deleted: rest } = yield* deleteSession(sql, id);
  const added = { ...messages.deleted, entries: entries.length } as Record<string, number>;
  const deleted = Object.entries(rest).map(([kind, rows]) => [kind, rows + (added[kind] ?? 0)]);
  return { deleted: Object.fromEntries(deleted), done: true };
}

const KEPT = [
  { kind: "records", table: "assistant_records", key: "label, key", condition: PROGRAMS_OWN },
  { kind: "versions", table: "assistant_versions", key: "kind, label, key, version", condition: "TRUE" },
] as const;

// The newest row that goes; null where none does.
function* lastToRemove({ rows, leaf }: SessionHead, keepMessages: number): Operation<number | null> {
  const [last] = yield* column<number>(
    ...rows.where(
      "SELECT n FROM assistant_messages",
      "n BETWEEN ? AND ? ORDER BY n DESC LIMIT 1 OFFSET ?",
      floorOf(rows.sessionNumber),
      ceilingOf(rows.sessionNumber),
      keepMessages,
    ),
  );
  if (last === undefined) return null;
  return leaf === null || leaf === NO_LEAF ? last : Math.min(last, leaf - 1);
}

function* countUpTo({ rows }: SessionHead, last: number): Operation<Pruned["deleted"]> {
  const row = yield* first<{ messages: number; summaries: number }>(
    `SELECT (SELECT count(*) FROM assistant_messages WHERE ${rows.own}n BETWEEN ? AND ?) AS messages,
       (SELECT count(*) FROM assistant_compactions WHERE ${rows.own}n BETWEEN ? AND ? AND to_n <= ?) AS summaries`,
    ...[...rows.ids, floorOf(rows.sessionNumber), last],
    ...[...rows.ids, floorOf(rows.sessionNumber), ceilingOf(rows.sessionNumber), last],
  );
  return { messages: Number(row?.messages), summaries: Number(row?.summaries) };
}

interface Versioned {
  readonly kind: string;
  readonly label: string;
  readonly key: string;
  readonly versions: number;
}

const AT = "session_id = ? AND kind = ? AND label = ? AND key = ?";

/** The operation behind `Store.pruneVersions`. */
export function* pruneVersions(id: string, { keep, limit, dryRun = false }: PruneVersionsRequest): Operation<Pruned> {
  assertCount(limit, "The limit of pruneVersions()");
  assertCount(keep, "The keep of pruneVersions()");
  const query = `SELECT kind, label, key, count(*) AS versions FROM assistant_versions WHERE session_id = ?
     GROUP BY kind, label, key HAVING count(*) > ?`;
  const found = yield* all<Versioned>(query, ...[id, keep]);
  let left = dryRun ? Number.POSITIVE_INFINITY : limit;
  let removed = 0;
  for (const { kind, label, key, versions } of found) {
    const excess = Math.min(Number(versions) - keep, left);
    left -= excess;
    if (dryRun) removed += excess;
    else if (excess > 0) {
      const versioned = [id, kind, label, key];
      const first = `SELECT version FROM assistant_versions WHERE ${AT} ORDER BY version LIMIT 1 OFFSET ?`;
      const older = `DELETE FROM assistant_versions WHERE ${AT} AND version < (${first})`;
      removed += yield* count(older, ...versioned, ...versioned, excess);
    }
  }
  return { deleted: { versions: removed }, done: left > 0 };
}

/** The weight of a message beyond its row: by its estimated tokens, and for what stands outside its row. */
const TOKENS_OF_A_ROW = 500;
const ROWS_OF_MEDIA = 20;

interface RemovedOldest {
  readonly deleted: Partial<RowCounts>;
  readonly done: boolean;
}

/**
 * Removes the oldest messages up to row `last`, about `limit` rows of them. Whatever hung below them becomes a root, and
 * summaries shrink to what is left of their range. The session keeps the date of its latest change.
 */
function* removeOldest(
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
  yield* run(...rows.where("DELETE FROM assistant_messages", "n BETWEEN ? AND ?", floor, cut));
  // Totals of what is left hold what was removed.
  const stale = newest !== null && newest.rowId > cut ? newest.rowId : null;
  const leaf = head.leaf !== null && head.leaf > 0 && head.leaf <= cut ? null : head.leaf;
  const update = `UPDATE assistant_sessions SET leaf = ?, stale = ?, counted_to = NULL, counted = NULL, counted_all = NULL,
       changes = changes + 1`;
  yield* run(...rows.whereRegistered(update, leaf, stale));
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
  const { sessionNumber } = rows;
  const touched = new Set([
    ...(yield* column<number>(
      ...rows.where("SELECT DISTINCT branch FROM assistant_messages", "n BETWEEN ? AND ?", floorOf(sessionNumber), cut),
    )),
    ...(yield* column<number>(...rows.whereNumber("SELECT branch FROM assistant_branches", " AND parent_n <= ?", cut))),
  ]);
  let gone = 0;
  for (const branch of touched) {
    const next = yield* firstOfBranch(rows, branch, cut + 1);
    if (next !== undefined) {
      yield* run(...rows.where("UPDATE assistant_messages SET parent_id = NULL", "n = ?", next.rowId));
    } else {
      gone += yield* count(...rows.whereNumber("DELETE FROM assistant_branches", " AND branch = ?", branch));
    }
  }
  yield* run(
    ...rows.whereNumber(
      "UPDATE assistant_branches SET parent_branch = NULL, parent_n = NULL",
      " AND parent_n <= ?",
      cut,
    ),
  );
  return gone;
}
