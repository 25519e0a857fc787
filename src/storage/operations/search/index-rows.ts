import { documentOf } from "../../../model/text.js";
import type { Dialect, IndexedDocument, SearchDialect } from "../../engine/dialect.js";
import { all, column, first, type Operation, run, tuples } from "../../engine/operation.js";
import { type ContentTuple, readRows } from "../content.js";
import { assertOrder } from "../damage.js";
import { entryDocument } from "../entries.js";
import { ceilingOf, floorOf, sessionOf } from "../row-id.js";

/** How many rows, and characters of their contents, are in memory at once. */
const ROWS = 500;
const CHARACTERS = 2_000_000;

/** Marks every message and entry to be indexed anew, by `reindexSome`. What is indexed until then may still be found. */
export function* markAllUnindexed(): Operation<void> {
  yield* run("UPDATE assistant_schema SET reindex_messages = 0, reindex_entries = 0");
}

/** Asks whether rows are marked: each gives the row behind which they begin, and null where there are none. */
export const READ_MARKS = "max(reindex_messages) AS messages, max(reindex_entries) AS entries";

export interface Marks {
  readonly messages: number | null;
  readonly entries: number | null;
}

/** Indexes some of the rows that are marked, and moves the mark behind them. True when none is left. */
export function* reindexSome(sql: Dialect, search: SearchDialect): Operation<boolean> {
  const marks = (yield* first<Marks>(`SELECT ${READ_MARKS} FROM assistant_schema`)) as Marks;
  if (marks.messages !== null) {
    const done = yield* reindexMessages(sql, search, marks.messages);
    yield* moveMark("reindex_messages", done);
    if (done !== null) return false;
  }
  if (marks.entries === null) return true;
  const done = yield* reindexEntries(sql, search, marks.entries);
  yield* moveMark("reindex_entries", done);
  return done === null;
}

// libSQL takes a null that is the only value for an object with named ones.
function* moveMark(name: string, to: number | null): Operation<void> {
  yield* run(`UPDATE assistant_schema SET ${name} = ${to === null ? "NULL" : "?"}`, ...(to === null ? [] : [to]));
}

// Gives the last row that was indexed; null when there was none behind `after`.
function* reindexMessages(sql: Dialect, search: SearchDialect, after: number): Operation<number | null> {
  const last = yield* endOfPage("assistant_messages", after, Number.MAX_SAFE_INTEGER);
  if (last === null) return null;
  // Nobody may edit what is read here before it is indexed.
  const lock = `SELECT no FROM assistant_sessions WHERE no BETWEEN ? AND ? ORDER BY no${sql.forUpdate}`;
  yield* column<number>(lock, sessionOf(after + 1), sessionOf(last));
  yield* search.replace("messages", yield* readDocuments(after, last));
  return last;
}

function* reindexEntries(sql: Dialect, search: SearchDialect, after: number): Operation<number | null> {
  const last = yield* endOfPage("cf_agents_search_entries", after, Number.MAX_SAFE_INTEGER);
  if (last === null) return null;
  const rows = yield* all<{ n: number; key: string; content: string; value: string | null }>(
    `SELECT n, key, content, value FROM cf_agents_search_entries WHERE n > ? AND n <= ? ORDER BY n${sql.forUpdate}`,
    after,
    last,
  );
  yield* search.replace(
    "entries",
    rows.map((row) => ({ n: row.n, document: entryDocument(row) })),
  );
  return last;
}

/** Indexes the messages of session `no`, of which none is indexed yet: the index itself keeps no text to copy. */
export function* indexSession(search: SearchDialect, sessionNumber: number): Operation<void> {
  for (let after: number | null = floorOf(sessionNumber) - 1; after !== null; ) {
    const last: number | null = yield* endOfPage("assistant_messages", after, ceilingOf(sessionNumber));
    if (last !== null) yield* search.replace("messages", yield* readDocuments(after, last));
    after = last;
  }
}

// The last of so many rows behind `after`, up to `to`, as are read at once; null when there are none.
function* endOfPage(table: string, after: number, to: number): Operation<number | null> {
  const rows = yield* tuples<readonly [n: number, size: number]>(
    `SELECT n, length(content) AS size FROM ${table} WHERE n > ? AND n <= ? ORDER BY n LIMIT ${ROWS}`,
    after,
    to,
  );
  let last: number | null = null;
  let characters = 0;
  for (const [rowId, size] of rows) {
    characters += size;
    if (last !== null && characters > CHARACTERS) break;
    assertOrder(rowId > after);
    last = rowId;
  }
  return last;
}

function* readDocuments(after: number, last: number): Operation<IndexedDocument[]> {
  const rows = yield* tuples<ContentTuple>(
    "SELECT n, content FROM assistant_messages WHERE n > ? AND n <= ? ORDER BY n",
    after,
    last,
  );
  const documents: IndexedDocument[] = [];
  for (const row of rows) {
    const [rowId] = row;
    // One by one: what stands outside the rows may be a thousand times as large. A row that cannot be read stays out.
    const [message] = yield* readRows(sessionOf(rowId), [row], () => {});
    documents.push({ n: rowId, document: message == null ? "" : documentOf(message) });
  }
  return documents;
}
