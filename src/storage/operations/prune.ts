import type { Pruned, PruneRequest, PruneVersionsRequest } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, column, count, first, type Operation } from "../engine/operation.js";
import { NO_LEAF } from "./active-leaf.js";
import { removeEntry } from "./entry-row.js";
import { countRows, deleteSession, findErased } from "./erase.js";
import { removeOldest } from "./remove-oldest.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { findSessionHead, type SessionHead } from "./session-head.js";
import { readSession } from "./sessions.js";

const NOTHING: Pruned = { deleted: {}, done: true };

/** See `SessionRegistry.prune`. */
export function* pruneSession(
  sql: Dialect,
  id: string,
  { changedBefore, keepMessages, limit, dryRun = false }: PruneRequest,
  userId?: string,
): Operation<Pruned> {
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
  for (const { kind, table, key } of KEPT) {
    const some = `SELECT ${key} FROM ${table} WHERE session_id = ? LIMIT ?`;
    const more = yield* first(`${some} OFFSET ?`, id, 1, limit);
    if (more === undefined) continue;
    const removed = `DELETE FROM ${table} WHERE session_id = ? AND (${key}) IN (${some})`;
    return { deleted: { ...messages.deleted, [kind]: yield* count(removed, [id, id, limit]) }, done: false };
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
  { kind: "records", table: "assistant_records", key: "label, key" },
  { kind: "versions", table: "assistant_versions", key: "kind, label, key, version" },
] as const;

// The newest row that goes; null where none does.
function* lastToRemove({ rows, leaf }: SessionHead, keepMessages: number): Operation<number | null> {
  const [last] = yield* column<number>(
    `SELECT n FROM assistant_messages WHERE ${rows.own}n BETWEEN ? AND ? ORDER BY n DESC LIMIT 1 OFFSET ?`,
    ...rows.ids,
    ...[floorOf(rows.sessionNumber), ceilingOf(rows.sessionNumber), keepMessages],
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

/** See `Store.pruneVersions`. */
export function* pruneVersions(id: string, { keep, limit, dryRun = false }: PruneVersionsRequest): Operation<Pruned> {
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
      removed += yield* count(older, [...versioned, ...versioned, excess]);
    }
  }
  return { deleted: { versions: removed }, done: left > 0 };
}
