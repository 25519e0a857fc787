import type { SessionMessage } from "@stemma/model";
import { jsonBytes, summaryMessage, takeRecent } from "@stemma/model";
import type { RecentHistory } from "../../contract/store.js";
import type { Dialect, PathOptions, RecentOptions } from "../../engine/dialect.js";
import { first, type Operation } from "../../engine/operation.js";
import { type ContentRow, dated, readContent } from "../messages/content.js";
import { damaged } from "../messages/damage.js";
import { assertWithin } from "../messages/message-position.js";
import { findSessionHead, type SessionHead } from "../registry/session-head.js";
import { findLeaf } from "./tree.js";
import { openView, readView, readViewPage, type View } from "./view.js";

/** When a message was stored; null when it is not there. */
export function* readTime(sessionId: string, id: string): Operation<string | null> {
  const query = "SELECT created_at FROM assistant_messages WHERE session_id = ? AND id = ?";
  const row = yield* first<{ created_at: string }>(query, sessionId, id);
  return row?.created_at ?? null;
}

/** See `SessionStore.message`. */
export function* readMessage(
  sql: Dialect,
  sessionId: string,
  id: string,
  { createdAt = false }: Pick<PathOptions, "createdAt"> = {},
): Operation<SessionMessage | null> {
  // A range of one id, in order, takes the index of ids also by a plan from when the table was empty, which some clients keep.
  const query =
    "SELECT n, content, created_at FROM assistant_messages WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT 1";
  const row = yield* first<ContentRow & { created_at: string }>(query, sessionId, id, id);
  if (row === undefined) return null;
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, { rowId: row.n, id });
  const message = yield* readContent((head as SessionHead).rows, row);
  // Of a row that was written without an id, an upgrade made one up.
  if (message !== null && message.id !== id && !id.startsWith(MADE_UP_ID)) {
    throw damaged({ messageId: id }, `The row of message "${id}" holds the message "${message.id}".`);
  }
  return message !== null && createdAt ? dated(message, row.created_at) : message;
}

/** See `SessionStore.leaf`. */
export function* readLeaf(sql: Dialect, sessionId: string): Operation<SessionMessage | null> {
  const found = yield* findLeaf(sql, sessionId, undefined);
  return found === null ? null : yield* readMessage(sql, sessionId, found.leaf.id);
}

/** Begins the ids that an upgrade gave to rows without one. */
export const MADE_UP_ID = "agents-row-";

/** See `SessionStore.path`. */
export function* readPath(sql: Dialect, sessionId: string, options: PathOptions): Operation<SessionMessage[]> {
  const view = yield* openView(sql, sessionId, options);
  return view === null ? [] : yield* readView(sql, view, options);
}

/** See `SessionStore.recent`. */
export function* readRecent(sql: Dialect, sessionId: string, options: RecentOptions): Operation<RecentHistory> {
  const { take, done } = takeRecent(options.maxBytes, options.minMessages);
  const view = yield* openView(sql, sessionId, options);
  for (const span of (view?.spans ?? []).slice().reverse()) {
    if ("compaction" in span) {
      const message = summaryMessage(span.compaction);
      if (!take(message, jsonBytes(message))) return done(true);
      continue;
    }
    let hi: number = span.range.hi;
    // One more than is wanted tells that there are more.
    let limit = Math.min(Math.max(8, options.minMessages + 1), 256);
    for (let more = true; more; limit = Math.min(limit * 2, 256)) {
      const wanted = { newestFirst: true, limit, later: false };
      const page = yield* readViewPage(view as View, { ...span.range, hi }, wanted, options);
      for (const [index, message] of page.messages.entries()) {
        if (!take(message, page.bytes[index] as number)) return done(true);
      }
      hi = (page.last ?? 0) - 1;
      more = page.full;
    }
  }
  return done(false);
}
