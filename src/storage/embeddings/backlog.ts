import type { RowAddress } from "../../model/rank.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, oneNumber } from "../engine/operation.js";
import { ofSession, registeredOrder, rowsOf } from "../engine/session-rows.js";
import { SESSION_RANGE } from "../operations/row-id.js";
import { registeredBefore } from "../operations/session-order.js";
import { type Model, numberOf } from "./vectors.js";
import { findNew, findOld, type Waiting } from "./waiting.js";

/** How many sessions a scan reads at once. */
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

/** What a look at some sessions finds. */
export interface Found {
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
  const query = `SELECT n${sql.namesSessions ? ', session_id AS "sessionId"' : ""} FROM assistant_vectors
     WHERE embedder < ? ORDER BY embedder DESC, n DESC LIMIT ?`;
  const addresses = yield* all<RowAddress>(query, embedder, limit - fresh.length + spare);
  return { fresh, old: yield* findOld(sql, embedder, addresses), done };
}

function* findProgress(sql: Dialect, sessions: readonly string[]): Operation<Map<string, Progress>> {
  if (sessions.length === 0) return new Map();
  const marks = sessions.map(() => "?").join(", ");
  const rows = yield* all<Progress>(`${PROGRESS(sql)} WHERE s.id IN (${marks})`, ...sessions);
  return new Map(rows.map((session) => [session.id, session]));
}

/** How many messages wait. Errors: `EMBEDDER_REPLACED`. */
export function* countWaiting(sql: Dialect, model: Model): Operation<number> {
  const embedder = yield* numberOf(model);
  const query = `SELECT sum((SELECT count(*) FROM assistant_messages m
       WHERE ${ofSession(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")} AND m.n > s.seen)) AS count
     FROM (${PROGRESS(sql)}) AS s WHERE s.newest > s.seen`;
  const fresh = yield* oneNumber(query);
  return fresh + (yield* oneNumber("SELECT count(*) AS count FROM assistant_vectors WHERE embedder < ?", embedder));
}
