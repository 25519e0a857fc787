import type { SessionMessage } from "../../model/message.js";
import type { StoredMessage } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation } from "../engine/operation.js";
import { type ContentRow, readRows } from "./content.js";
import { rowAfter } from "./damage.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { findSessionHead } from "./session-head.js";
import { type MessagePage, NO_MESSAGES, type ReadOperation, streamPages } from "./stream-pages.js";

/** See `SessionStore.messages`. Each page is a transaction of its own. */
export function streamMessages(
  sql: Dialect,
  read: ReadOperation,
  sessionId: string,
): AsyncGenerator<StoredMessage, void, undefined> {
  return streamPages(read, () => readStoredPage(sql, sessionId, 0));
}

const STORED_PAGE = 128;

interface StoredRow extends ContentRow {
  readonly parent_id: string | null;
  readonly dated_at: string | null;
  readonly created_at: string;
}

function* readStoredPage(sql: Dialect, sessionId: string, after: number): Operation<MessagePage<StoredMessage>> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return NO_MESSAGES;
  const from = Math.max(after, floorOf(head.sessionNumber));
  const query = `SELECT n, parent_id, dated_at, created_at, content FROM assistant_messages
     WHERE ${head.rows.own}n BETWEEN ? AND ? ORDER BY n LIMIT ${STORED_PAGE}`;
  const rows = yield* all<StoredRow>(query, ...head.rows.ids, from, ceilingOf(head.sessionNumber));
  const read = yield* readRows(
    head.rows,
    rows.map(({ n: rowId, content }) => [rowId, content]),
  );
  const messages = rows.map(({ parent_id, dated_at, created_at }, index) => ({
    message: read[index] as SessionMessage,
    parentId: parent_id,
    createdAt: dated_at ?? created_at,
    storedAt: created_at,
  }));
  const last = rows.length < STORED_PAGE ? undefined : rows.at(-1);
  if (last === undefined) return { messages, next: null };
  const next = rowAfter(last.n, from);
  return { messages, next: () => readStoredPage(sql, sessionId, next) };
}
