import { documentOf } from "../../../model/text.js";
import type { Dialect, IndexedDocument, SearchDialect } from "../../engine/dialect.js";
import {
  all,
  column,
  first,
  type Operation,
  run,
  type SqlValue,
  type Statement,
  tuples,
} from "../../engine/operation.js";
import { rowsOf, type SessionRows } from "../../engine/session-rows.js";
import { readRows } from "../content.js";
import { assertOrder } from "../damage.js";
import { entryDocument } from "../entries.js";
import { ceilingOf, floorOf, sessionOf } from "../row-id.js";

/** How many rows, and characters of their contents, are in memory at once. */
const ROWS = 500;
const CHARACTERS = 2_000_000;

/** How many documents' terms are in memory at once. */
const ADDED_AT_ONCE = 100;

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
  const to = yield* endOfWindow(sql, after);
  const last = yield* endOfPage(sql, "assistant_messages", after, to);
  if (last === null) return to === Number.MAX_SAFE_INTEGER ? null : to;
  // Nobody may edit what is read here before it is indexed.
  yield* lockSessions(sql, sessionOf(after + 1), sessionOf(last));
  yield* search.replace("messages", yield* readDocuments(sql, after, last));
  return last;
}

function* reindexEntries(sql: Dialect, search: SearchDialect, after: number): Operation<number | null> {
  const last = yield* endOfPage(sql, "cf_agents_search_entries", after, Number.MAX_SAFE_INTEGER);
  if (last === null) return null;
  const rows = yield* lockEntries(sql, after, last);
  yield* search.replace(
    "entries",
    rows.map((row) => ({ sessionId: row.session_id, n: row.n, document: entryDocument(row) })),
  );
  return last;
}

// Where sessions are spread over servers, each is locked by itself.
function* lockSessions(sql: Dialect, lowest: number, highest: number): Operation<void> {
  const some = "FROM assistant_sessions WHERE no BETWEEN ? AND ? ORDER BY no";
  if (!sql.isSpread) return void (yield* column<number>(`SELECT no ${some}${sql.forUpdate}`, lowest, highest));
  for (const id of yield* column<string>(`SELECT id ${some}`, lowest, highest)) yield* sql.lockSession?.(id) ?? [];
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
  if (!sql.isSpread) return yield* all<EntryRow>(read(some), after, last);
  const ids = `SELECT DISTINCT session_id FROM cf_agents_search_entries WHERE ${some} ORDER BY session_id`;
  const rows: EntryRow[] = [];
  for (const id of yield* column<string>(ids, after, last)) {
    rows.push(...(yield* all<EntryRow>(read(`session_id = ? AND ${some}`), id, after, last)));
  }
  return rows.sort((a, b) => a.n - b.n);
}

/** Indexes the messages of a session, of which none is indexed yet: the index itself keeps no text to copy. */
export function* indexSession(sql: Dialect, search: SearchDialect, { no }: SessionRows): Operation<void> {
  for (let after: number | null = floorOf(no) - 1; after !== null; ) {
    const last: number | null = yield* endOfPage(sql, "assistant_messages", after, ceilingOf(no));
    if (last !== null) yield* addMessages(search, yield* readDocuments(sql, after, last));
    after = last;
  }
}

/** Indexes messages that are not indexed yet. */
export function* addMessages(search: SearchDialect, documents: readonly IndexedDocument[]): Operation<void> {
  for (let start = 0; start < documents.length; start += ADDED_AT_ONCE) {
    const statements: Statement[] = [];
    // All terms are found before any is written: between the statements of an engine that takes twice as long.
    for (let index = start; index < Math.min(start + ADDED_AT_ONCE, documents.length); index += 1) {
      const { sessionId, n: rowId, document } = documents[index] as IndexedDocument;
      if (document !== "") statements.push(search.add("messages", sessionId, rowId, document));
    }
    for (const statement of statements) yield statement;
  }
}

/** So many sessions are looked at together where their rows are found by their ids. */
const SESSIONS = 50;

/** How far a look at messages of all sessions goes behind the row `after` at most. */
export function* endOfWindow({ namesSessions }: Dialect, after: number, sessions = SESSIONS): Operation<number> {
  if (!namesSessions) return Number.MAX_SAFE_INTEGER;
  const query = `SELECT no FROM assistant_sessions WHERE no >= ? ORDER BY no LIMIT 1 OFFSET ${sessions - 1}`;
  const [last] = yield* column<number>(query, sessionOf(after + 1));
  return last === undefined ? Number.MAX_SAFE_INTEGER : ceilingOf(last);
}

/** A query of messages `m` of all sessions, behind the row `after` up to `to` of a window, in order. */
export function messagesBetween(
  { namesSessions }: Dialect,
  columns: string,
  after: number,
  to: number,
): [sql: string, ...values: SqlValue[]] {
  const rows = "m.n > ? AND m.n <= ? ORDER BY m.n";
  if (!namesSessions) return [`SELECT ${columns} FROM assistant_messages m WHERE ${rows}`, after, to];
  const sessions = "assistant_sessions s JOIN assistant_messages m ON m.session_id = s.id";
  const select = `SELECT ${columns} FROM ${sessions} WHERE s.no BETWEEN ? AND ? AND ${rows}`;
  return [select, sessionOf(after + 1), sessionOf(to), after, to];
}

// The last of so many rows behind `after`, up to `to`, as are read at once; null when there are none.
function* endOfPage(sql: Dialect, table: string, after: number, to: number): Operation<number | null> {
  const [query, ...values] =
    table === "assistant_messages"
      ? messagesBetween(sql, "m.n AS n, length(m.content) AS size", after, to)
      : [`SELECT n, length(content) AS size FROM ${table} WHERE n > ? AND n <= ? ORDER BY n`, after, to];
  const rows = yield* tuples<readonly [n: number, size: number]>(`${query} LIMIT ${ROWS}`, ...values);
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

function* readDocuments(sql: Dialect, after: number, last: number): Operation<IndexedDocument[]> {
  const rows = yield* tuples<readonly [n: number, content: string, sessionId: string]>(
    ...messagesBetween(sql, "m.n AS n, m.content AS content, m.session_id AS session_id", after, last),
  );
  const documents: IndexedDocument[] = [];
  for (const [rowId, content, sessionId] of rows) {
    // One by one: what stands outside the rows may be a thousand times as large. A row that cannot be read stays out.
    const [message] = yield* readRows(rowsOf(sql, sessionId, sessionOf(rowId)), [[rowId, content]], () => {});
    documents.push({ sessionId, n: rowId, document: message == null ? "" : documentOf(message) });
  }
  return documents;
}
