import type { Dialect, IndexedDocument, SearchDialect } from "../../engine/dialect.js";
import { all, column, first, type Operation, rowsOf, run, tuples } from "../../engine/operation.js";
import { entryDocument } from "../memory/entry-rows.js";
import { assertOrder } from "../messages/damage.js";
import { sessionOf } from "../registry/session-head.js";
import { CHARACTERS, messagesBetween, type ReadTo, ROWS, readDocument } from "./index-rows.js";

/** Marks every message and entry to be indexed anew, by `reindexSome`. What is indexed until then may still be found. */
export function* markAllUnindexed({ layout }: Dialect): Operation<void> {
  const session = layout !== "local" ? ", reindex_session = NULL" : "";
  yield* run(`UPDATE assistant_schema SET reindex_messages = 0, reindex_entries = 0${session}`);
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
    const done = yield* reindexMessages(sql, search, { rowId: marks.messages, sessionId: yield* markedSession(sql) });
    yield* moveMark("reindex_messages", done?.rowId ?? null);
    if (sql.layout !== "local") yield* moveMark("reindex_session", done?.sessionId ?? null);
    if (done !== null) return false;
  }
  if (marks.entries === null) return true;
  const done = yield* reindexEntries(sql, search, marks.entries);
  yield* moveMark("reindex_entries", done);
  return done === null;
}

// The session of the row behind which the marked ones begin, where rows name theirs.
function* markedSession({ layout }: Dialect): Operation<string> {
  const query = "SELECT max(reindex_session) AS id FROM assistant_schema";
  return (layout !== "local" ? (yield* first<{ id: string | null }>(query))?.id : null) ?? "";
}

// libSQL takes a null that is the only value for an object with named ones.
function* moveMark(name: string, to: number | string | null): Operation<void> {
  yield* run(`UPDATE assistant_schema SET ${name} = ${to === null ? "NULL" : "?"}`, ...(to === null ? [] : [to]));
}

// Gives the last row that was indexed; null when there was none behind `after`.
function* reindexMessages(sql: Dialect, search: SearchDialect, after: ReadTo): Operation<ReadTo | null> {
  const last = yield* endOfPage(sql, after);
  if (last === null) return null;
  // Nobody may edit what is read here before it is indexed.
  yield* lockSessions(sql, after.sessionId, last.sessionId);
  yield* search.replace("messages", yield* readDocuments(sql, search, after, last));
  return last;
}

function* reindexEntries(sql: Dialect, search: SearchDialect, after: number): Operation<number | null> {
  const query = "SELECT n, length(content) AS size FROM cf_agents_search_entries WHERE n > ? ORDER BY n";
  const page = yield* tuples<readonly [n: number, size: number]>(`${query} LIMIT ${ROWS}`, after);
  const last = lastOfPage(page.map(([rowId, size]) => ({ rowId, size })))?.rowId;
  if (last === undefined) return null;
  assertOrder(last > after);
  const rows = yield* lockEntries(sql, after, last);
  yield* search.replace(
    "entries",
    rows.map((row) => ({ sessionId: row.session_id, rowId: row.n, document: entryDocument(row) })),
  );
  return last;
}

// Where a transaction excludes other writers, none is to be locked. Where sessions are spread, each is locked by itself.
function* lockSessions(sql: Dialect, from: string, to: string): Operation<void> {
  if (sql.layout === "local") return;
  const some = "FROM assistant_sessions WHERE id >= ? AND id <= ? ORDER BY id";
  if (sql.layout !== "spread") return void (yield* column<string>(`SELECT id ${some}${sql.forUpdate}`, from, to));
  for (const id of yield* column<string>(`SELECT id ${some}`, from, to)) yield* sql.lockSession?.(id) ?? [];
}

interface EntryRow {
  readonly n: number;
  readonly session_id: string;
  readonly key: string;
  readonly content: string;
  readonly value: string | null;
}

function* lockEntries(sql: Dialect, after: number, last: number): Operation<EntryRow[]> {
  const some = "n > ? AND n <= ?";
  const read = (condition: string) =>
    `SELECT n, session_id, key, content, value FROM cf_agents_search_entries WHERE ${condition} ORDER BY n${sql.forUpdate}`;
  if (sql.layout !== "spread") return yield* all<EntryRow>(read(some), after, last);
  const ids = `SELECT DISTINCT session_id FROM cf_agents_search_entries WHERE ${some} ORDER BY session_id`;
  const rows: EntryRow[] = [];
  for (const id of yield* column<string>(ids, after, last)) {
    rows.push(...(yield* all<EntryRow>(read(`session_id = ? AND ${some}`), id, after, last)));
  }
  return rows.sort((a, b) => a.n - b.n);
}

// The last of so many rows behind `after` as are read at once; null when there are none.
function* endOfPage(sql: Dialect, after: ReadTo): Operation<ReadTo | null> {
  const columns = "m.n AS n, m.session_id AS session_id, length(m.content) AS size";
  const [query, ...values] = messagesBetween(sql, columns, after, null);
  const rows = yield* tuples<readonly [n: number, sessionId: string, size: number]>(
    `${query} LIMIT ${ROWS}`,
    ...values,
  );
  const last = lastOfPage(rows.map(([rowId, sessionId, size]) => ({ rowId, sessionId, size })));
  if (last === null) return null;
  const end = { rowId: last.rowId, sessionId: sql.layout !== "local" ? last.sessionId : after.sessionId };
  assertOrder(end.rowId > after.rowId || end.sessionId !== after.sessionId);
  return end;
}

// The last of rows that are few enough characters together; the first one in any case.
function lastOfPage<R extends { readonly size: number }>(rows: readonly R[]): R | null {
  let last: R | null = null;
  let characters = 0;
  for (const row of rows) {
    characters += row.size;
    if (last !== null && characters > CHARACTERS) break;
    last = row;
  }
  return last;
}

function* readDocuments(
  sql: Dialect,
  search: SearchDialect,
  after: ReadTo,
  last: ReadTo,
): Operation<IndexedDocument[]> {
  const rows = yield* tuples<readonly [n: number, content: string, sessionId: string]>(
    ...messagesBetween(sql, "m.n AS n, m.content AS content, m.session_id AS session_id", after, last),
  );
  const documents: IndexedDocument[] = [];
  for (const [rowId, content, sessionId] of rows) {
    documents.push(yield* readDocument(search, rowsOf(sql, sessionId, sessionOf(rowId)), [rowId, content]));
  }
  return documents;
}
