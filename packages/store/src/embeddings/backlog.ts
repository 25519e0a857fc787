import { cut, embeddedText, keyOf, type RowAddress } from "@stemma/model";
import type { Dialect } from "../engine/dialect.js";
import {
  all,
  column,
  first,
  type Operation,
  ofSession,
  oneNumber,
  ownOf,
  registeredOrder,
  rowsOf,
  type SessionRows,
  sameSession,
} from "../engine/operation.js";
import { type EntryRow, entryDocument } from "../operations/memory/entry-rows.js";
import { type ContentRow, readContent } from "../operations/messages/content.js";
import { ceilingOf, floorOf, SESSION_RANGE, sessionOf } from "../operations/registry/session-head.js";
import { registeredBefore } from "../operations/registry/session-order.js";
import { type Model, numberOf, type VectorTable } from "./vector-bytes.js";

const PAGE = 500;

interface Progress {
  readonly no: number;
  readonly id: string;
  readonly registered: number;
  /** The session's last row; null where it has none. */
  readonly newest: number | null;
  /** The last row that was looked at; 0 where none was. */
  readonly seen: number;
}

// How far each of some sessions is.
const PROGRESS = (sql: Dialect) => `
  SELECT s.no AS no, s.id AS id, ${registeredOrder(sql).by} AS registered,
    (SELECT max(m.n) FROM assistant_messages m WHERE ${ofSession(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")}) AS newest,
    coalesce((SELECT max(v.n) FROM assistant_vectors v
      WHERE ${ofSession(sql, "v")}v.n BETWEEN ${SESSION_RANGE("s.no")}), 0) AS seen
  FROM assistant_sessions s`;

const hasNew = ({ newest, seen }: Progress): boolean => newest !== null && newest > seen;

/** A page of a scan of all sessions, the newest first. */
export interface Page {
  /** The sessions that have new messages. */
  readonly sessions: string[];
  /** The session before which the next page begins; null after the last one. */
  readonly before: Before | null;
}

/** When a session was registered, and its id. */
export interface Before {
  readonly registered: number;
  readonly id: string;
}

/** The page of the sessions that were registered before one. */
export function* readPage(sql: Dialect, before: Before): Operation<Page> {
  const { condition, values } = registeredBefore(sql, before.registered, before.id);
  const { by, ties } = registeredOrder(sql);
  const order = [by, ...ties].map((term) => `${term} DESC`).join(", ");
  const rows = yield* all<Progress>(`${PROGRESS(sql)} WHERE ${condition} ORDER BY ${order} LIMIT ${PAGE}`, ...values);
  const last = rows[PAGE - 1];
  const next = last === undefined ? null : { registered: Number(last.registered), id: last.id };
  return { sessions: rows.filter(hasNew).map(({ id }) => id), before: next };
}

interface Found {
  /** New messages of these sessions, each session's in order. */
  readonly fresh: Waiting[];
  /** Messages of any session whose row is old. */
  readonly old: Waiting[];
  /** Those of the sessions in which nothing is new. */
  readonly done: string[];
}

/** The next messages to embed: of `sessions`, at most `limit`; then those whose row is old, up to `spare` more. Errors: `EMBEDDER_REPLACED`. */
export function* readWaiting(
  sql: Dialect,
  model: Model,
  sessions: readonly string[],
  limit: number,
  spare: number,
): Operation<Found> {
  const embedder = yield* numberOf(model);
  const progress = yield* findProgress(sql, sessions);
  const fresh: Waiting[] = [];
  const done: string[] = [];
  for (const id of sessions) {
    const session = progress.get(id);
    if (session === undefined || !hasNew(session)) done.push(id);
    else if (fresh.length < limit) {
      const rows = rowsOf(sql, id, session.no);
      fresh.push(...(yield* findNew(sql, embedder, rows, session.seen, limit - fresh.length)));
    }
  }
  const query = `SELECT n${sql.layout !== "local" ? ', session_id AS "sessionId"' : ""} FROM assistant_vectors
     WHERE embedder < ? ORDER BY embedder DESC, ${sql.layout !== "local" ? "session_id DESC, " : ""}n DESC LIMIT ?`;
  const addresses = yield* all<RowAddress>(query, embedder, limit - fresh.length + spare);
  return { fresh, old: yield* findOld(sql, embedder, addresses), done };
}

function* findProgress(sql: Dialect, sessions: readonly string[]): Operation<Map<string, Progress>> {
  if (sessions.length === 0) return new Map();
  const marks = sessions.map(() => "?").join(", ");
  const rows = yield* all<Progress>(`${PROGRESS(sql)} WHERE s.id IN (${marks})`, ...sessions);
  return new Map(rows.map((session) => [session.id, session]));
}

/** How many messages and entries wait. Errors: `EMBEDDER_REPLACED`. */
export function* countWaiting(sql: Dialect, model: Model): Operation<number> {
  const embedder = yield* numberOf(model);
  const query = `SELECT sum((SELECT count(*) FROM assistant_messages m
       WHERE ${ofSession(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")} AND m.n > s.seen)) AS count
     FROM (${PROGRESS(sql)}) AS s WHERE s.newest > s.seen`;
  const fresh = yield* oneNumber(query);
  const countOld = (table: VectorTable) =>
    oneNumber(`SELECT count(*) AS count FROM ${table} WHERE embedder < ?`, embedder);
  return fresh + (yield* countOld("assistant_vectors")) + (yield* countOld("assistant_entry_vectors"));
}

/** The next entries to embed. */
export function* readWaitingEntries(sql: Dialect, model: Model, limit: number): Operation<Waiting[]> {
  const query = `SELECT e.session_id AS session_id, e.n AS n, e.key AS key, e.content AS content, e.value AS value
    FROM assistant_entry_vectors v CROSS JOIN cf_agents_search_entries e
    WHERE v.embedder < ? AND ${sameSession(sql, "e", "v")}e.n = v.n
    ORDER BY v.embedder DESC, ${sql.layout === "local" ? "" : "v.session_id DESC, "}v.n DESC LIMIT ?`;
  const rows = yield* all<WaitingEntry>(query, yield* numberOf(model), limit);
  return rows.map((row) => {
    const address = { sessionId: row.session_id, n: Number(row.n) };
    return { ...address, text: entryText(row), twin: null, isEntry: true };
  });
}

type WaitingEntry = Pick<EntryRow, "key" | "content" | "value"> & { readonly session_id: string; readonly n: number };

/** The text that is embedded of an entry; null where it is gone. Nobody changes it until the transaction ends. */
export function* findEntryText(sql: Dialect, sessionId: string, rowId: number): Operation<string | null> {
  const query = `SELECT key, content, value FROM cf_agents_search_entries WHERE session_id = ? AND n = ?${sql.forUpdate}`;
  const row = yield* first<EntryRow>(query, sessionId, rowId);
  return row === undefined ? null : entryText(row);
}

const entryText = (entry: Pick<EntryRow, "key" | "content" | "value">): string =>
  cut(entryDocument(entry).toWellFormed(), 0, MAX_CHARACTERS);

export interface Waiting {
  readonly sessionId: string;
  readonly n: number;
  /** The text that is embedded; "" for a message that has no text, or cannot be read. */
  readonly text: string;
  /** The row of the same message of the session that this one was forked from, where that has its vector. */
  readonly twin: Twin | null;
  /** True for an entry. */
  readonly isEntry?: boolean;
}

/** A key that no other waiting message has, also when its row's number is given to another session. */
export const waitingKey = ({ n, sessionId, isEntry }: Pick<Waiting, "n" | "sessionId" | "isEntry">): number | string =>
  isEntry ? `entry ${n}` : keyOf({ n, sessionId });

/** How much of a message's text is embedded, in characters: what models take whole. */
const MAX_CHARACTERS = 5_000;

/** The first messages of a session after those that were looked at, in order. */
export function* findNew(
  sql: Dialect,
  embedder: number,
  rows: SessionRows,
  seen: number,
  limit: number,
  lock = "",
): Operation<Waiting[]> {
  const fresh = yield* all<WaitingRow>(
    `SELECT ${WAITING_COLUMNS(sql, embedder)} FROM assistant_messages m
     WHERE ${ownOf(sql, "m")}m.n BETWEEN ? AND ? ORDER BY m.n LIMIT ?${lock}`,
    ...rows.ids,
    Math.max(seen + 1, floorOf(rows.sessionNumber)),
    ceilingOf(rows.sessionNumber),
    limit,
  );
  return yield* textsOf(sql, embedder, fresh);
}

/** Those of the messages whose row is old; all of one session where it is given. */
function* findOld(
  sql: Dialect,
  embedder: number,
  addresses: readonly RowAddress[],
  lock = "",
  sessionId: string | null = null,
): Operation<Waiting[]> {
  if (addresses.length === 0) return [];
  const [own, ids] =
    sessionId === null
      ? [sql.layout !== "local" ? "v.session_id = given.owner AND " : "", []]
      : ["v.session_id = ? AND ", [sessionId]];
  const rows = yield* all<WaitingRow>(
    `SELECT ${WAITING_COLUMNS(sql, embedder)} FROM ${sql.segmentTable} AS given CROSS JOIN assistant_vectors v CROSS JOIN assistant_messages m
     WHERE ${own}v.n = given.lo AND v.embedder < ? AND ${sameSession(sql, "m", "v")}m.n = v.n${lock}`,
    JSON.stringify(addresses.map(({ n: rowId, sessionId: id = "" }) => [0, Number(rowId), Number(rowId), id])),
    ...ids,
    embedder,
  );
  return yield* textsOf(sql, embedder, rows);
}

/** Those of `embedded` whose row is old. Rows that are spread are locked on one server after the other. */
export function* findOldOf(
  sql: Dialect,
  embedder: number,
  embedded: readonly Waiting[],
  lock: string,
): Operation<Waiting[]> {
  if (sql.layout !== "spread") return yield* findOld(sql, embedder, embedded, lock);
  const old: Waiting[] = [];
  for (const id of new Set(embedded.map(({ sessionId }) => sessionId))) {
    const ofSession = embedded.filter(({ sessionId }) => sessionId === id);
    old.push(...(yield* findOld(sql, embedder, ofSession, lock, id)));
  }
  return old;
}

function* textsOf(sql: Dialect, embedder: number, rows: readonly WaitingRow[]): Operation<Waiting[]> {
  const found: Waiting[] = [];
  for (const row of rows) {
    const text = yield* textToEmbed(sql, row.session_id, row);
    const twin = sql.layout === "spread" ? yield* findTwin(row, embedder) : twinIn(row);
    found.push({ sessionId: row.session_id, n: row.n, text, twin });
  }
  return found;
}

/** Reads the text of a message that is embedded: "" of one that has no text, or cannot be read. */
export function* textToEmbed(sql: Dialect, sessionId: string, row: ContentRow): Operation<string> {
  const message = yield* readContent(rowsOf(sql, sessionId, sessionOf(row.n)), row, () => {});
  return message === null ? "" : cut(embeddedText(message).toWellFormed(), 0, MAX_CHARACTERS);
}

/** The row of the same message in the session that a session was forked from. */
export interface Twin {
  readonly n: number;
  readonly sessionId: string;
}

/** A row of a message that waits for its vector. */
interface WaitingRow extends ContentRow {
  readonly session_id: string;
  readonly twin: number | null;
  /** The session of the twin. */
  readonly parent: string | null;
}

const PARENT = "(SELECT s.parent_session_id FROM assistant_sessions s WHERE s.id = m.session_id)";

/** Where the parent's rows may be on another server, see `findTwin`: a statement that locks rows names no other table there. */
const WAITING_COLUMNS = (sql: Dialect, embedder: number) => {
  const [twin, parent] = sql.layout === "spread" ? ["NULL", "NULL"] : [twinOf(sql, embedder), PARENT];
  return `m.n AS n, m.session_id AS session_id, m.content AS content, ${twin} AS twin, ${parent} AS parent`;
};

const twinOf = (sql: Dialect, embedder: number) => `(
  SELECT v.n FROM assistant_sessions s
  JOIN assistant_messages p ON p.session_id = s.parent_session_id AND p.id = m.id AND p.content = m.content
  JOIN assistant_vectors v ON ${sameSession(sql, "v", "p")}v.n = p.n
  WHERE s.id = m.session_id AND v.embedder = ${embedder} AND v.vector IS NOT NULL)`;

/** Of a message in a fork. Its session names the one whose rows are looked at. */
function* findTwin({ n: rowId, session_id, content }: WaitingRow, embedder: number): Operation<Twin | null> {
  const findParent = "SELECT parent_session_id FROM assistant_sessions WHERE id = ?";
  const [parent] = yield* column<string | null>(findParent, session_id);
  if (parent === null || parent === undefined) return null;
  const findId = "SELECT id FROM assistant_messages WHERE session_id = ? AND n = ?";
  const [id] = yield* column<string>(findId, session_id, rowId);
  const [twin] = yield* column<number>(
    `SELECT v.n FROM assistant_messages p JOIN assistant_vectors v ON v.session_id = p.session_id AND v.n = p.n
     WHERE p.session_id = ? AND p.id = ? AND p.content = ? AND v.embedder = ? AND v.vector IS NOT NULL`,
    ...[parent, id ?? "", content, embedder],
  );
  return twin === undefined ? null : { n: twin, sessionId: parent };
}

/** The twin that such a row names. */
function twinIn({ twin, parent }: WaitingRow): Twin | null {
  return twin === null || parent === null ? null : { n: twin, sessionId: parent };
}
