import { documentOf } from "../../../model/text.js";
import type { Dialect } from "../../engine/dialect.js";
import { first, type Operation, tuples } from "../../engine/operation.js";
import type { IndexedDocument, SearchDialect } from "../../engine/search-dialect.js";
import type { SessionRows } from "../../engine/session-rows.js";
import { type ContentTuple, readRows } from "../content.js";
import { assertOrder } from "../damage.js";
import { ceilingOf, floorOf } from "../row-id.js";

/** How many rows, and characters of their contents, are in memory at once. */
export const ROWS = 500;
export const CHARACTERS = 2_000_000;

/** How many documents' terms are in memory at once. */
const ADDED_AT_ONCE = 100;

/** Indexes the messages of a session, of which none is indexed yet: the index itself keeps no text to copy. */
export function* indexSession(sql: Dialect, search: SearchDialect, rows: SessionRows): Operation<void> {
  const content = `SELECT n, content FROM assistant_messages WHERE ${rows.own}n > ? AND n <= ? ORDER BY n`;
  let after = floorOf(rows.sessionNumber) - 1;
  for (;;) {
    const last = yield* endOfRows(sql, rows, after);
    if (last === null) return;
    const documents: IndexedDocument[] = [];
    for (const row of yield* tuples<ContentTuple>(content, ...rows.ids, after, last)) {
      documents.push(yield* readDocument(rows, row));
    }
    yield* addMessages(search, documents);
    after = last;
  }
}

// The last of so many rows of a session behind `after` as are read at once; null when there are none. One sum of their sizes
// takes a quarter of the time that reading them one by one does.
function* endOfRows(sql: Dialect, rows: SessionRows, after: number): Operation<number | null> {
  for (let limit = ROWS; ; limit = Math.ceil(limit / 8)) {
    const page = yield* first<{ last: number | null; size: number | null }>(
      `SELECT max(n) AS last, sum(${sql.byteLength("content")}) AS size FROM (
         SELECT n, content FROM assistant_messages WHERE ${rows.own}n > ? AND n <= ? ORDER BY n LIMIT ${limit}) AS page`,
      ...[...rows.ids, after, ceilingOf(rows.sessionNumber)],
    );
    if (limit > 1 && Number(page?.size) > CHARACTERS) continue;
    const last = page?.last ?? null;
    assertOrder(last === null || last > after);
    return last;
  }
}

/** Indexes messages that are not indexed yet. */
export function* addMessages(search: SearchDialect, documents: readonly IndexedDocument[]): Operation<void> {
  for (let start = 0; start < documents.length; start += ADDED_AT_ONCE) {
    yield* search.add("messages", documents.slice(start, start + ADDED_AT_ONCE));
  }
}

/** What is indexed of a row, "" where it cannot be read. One row at a time: what stands outside may be a thousand times as large. */
export function* readDocument(session: SessionRows, row: ContentTuple): Operation<IndexedDocument> {
  const [message] = yield* readRows(session, [row], () => {});
  return { sessionId: session.id, rowId: row[0], document: message == null ? "" : documentOf(message) };
}
