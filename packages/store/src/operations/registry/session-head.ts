import { StemmaError } from "@stemma/model";
import type { Dialect } from "../../engine/dialect.js";
import { column, insert, type Operation, OR_KEEP, run, type SqlValue, tuples } from "../../engine/operation.js";
import { idsOf, ownOf, rowsOf, type SessionRows } from "../../engine/session-rows.js";
import type { MessagePosition } from "../messages/message-position.js";
import { floorOf, MAX_NUMBER, SESSION_RANGE } from "../messages/row-id.js";
import { isoNow, undatedUntil } from "./clock.js";
import { LATEST_CHANGE } from "./session-order.js";
/** Writes a session's row, with what `values` say. False where there is one of its id. Errors: `SESSION_LIMIT`. */
export function* insertSession(sql: Dialect, values: Readonly<Record<string, SqlValue>>): Operation<boolean> {
  const row = sql.countsSessions ? { ...(yield* numbered()), ...values } : values;
  return yield* insert("assistant_sessions", row, OR_KEEP);
}

// When a session is registered is no order: it only tells one from another of its id and number that is gone.
function* numbered(): Operation<{ no: number; registered: number }> {
  return { no: yield* nextNumber(), registered: Date.now() * 1000 + Math.floor(Math.random() * 1000) };
}

/** So many numbers are tried before all are looked at: in vain only of a store that is nearly full. */
const TRIES = 1000;

/**
 * The number behind the highest one, so that the order of numbers is that in which sessions were registered. Where that is
 * the last number of all, any that is free.
 */
function* nextNumber(): Operation<number> {
  const [highest] = yield* column<number | null>("SELECT max(no) FROM assistant_sessions");
  if ((highest ?? 0) < MAX_NUMBER) return (highest ?? 0) + 1;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const number = 1 + Math.floor(Math.random() * MAX_NUMBER);
    if ((yield* column<number>("SELECT 1 FROM assistant_sessions WHERE no = ?", number)).length === 0) return number;
  }
  const query = `SELECT s.no FROM assistant_sessions s WHERE s.no > 1 AND NOT EXISTS (
       SELECT 1 FROM assistant_sessions b WHERE b.no = s.no - 1) LIMIT 1`;
  const [before] = yield* column<number>(query);
  if (before !== undefined) return before - 1;
  const message = `A store has at most ${MAX_NUMBER} sessions at once; delete some, or start another one.`;
  throw new StemmaError("SESSION_LIMIT", { no: highest }, message);
}

/** Registers a session. False where it is registered already. */
export function* makeRow(sql: Dialect, sessionId: string): Operation<boolean> {
  // Who locked a session that has no row is not met by a row of it.
  if (sql.lockSession !== null) yield* sql.lockSession(sessionId);
  const now = isoNow();
  return yield* insertSession(sql, { id: sessionId, name: sessionId, created_at: now, updated_at: now });
}

/** What a session's row holds beside its registry fields. */
export interface SessionRow {
  readonly sessionNumber: number;
  /** The active leaf: null the newest row, 0 none, otherwise a row id. */
  readonly leaf: number | null;
  /** Running totals of the rows up to this one are out of date; null when all are right. */
  readonly stale: number | null;
  /** JSON of the skill state; null when no skill was loaded yet. */
  readonly skills: string | null;
  /** Tells the session from one of its id and number that was deleted. */
  readonly registered: number;
}

/** A session's row with its newest message. */
export interface SessionHead extends SessionRow {
  readonly rows: SessionRows;
  readonly newest: MessagePosition | null;
  /** A time up to which the row says that the session changed. */
  readonly datedUntil: string;
}

// Joins the newest message `m` of the session `s`; it binds what `own` binds. Where rows name their session, one look by the
// index finds the row: two would be planned as a join with all of the session.
function newest({ namesSessions }: Pick<Dialect, "namesSessions">, own: string): string {
  const last = (columns: string) =>
    `(SELECT ${columns} FROM assistant_messages t WHERE ${own}t.n BETWEEN ${SESSION_RANGE("s.no")} ORDER BY t.n DESC LIMIT 1)`;
  return namesSessions
    ? `LEFT JOIN LATERAL ${last("t.n, t.id, t.branch, t.total")} AS m ON TRUE`
    : `LEFT JOIN assistant_messages m ON m.n = ${last("t.n")}`;
}

const headQuery = (sql: Pick<Dialect, "namesSessions">) => `
  SELECT s.no AS no, s.leaf AS leaf, s.stale AS stale, s.skills AS skills, s.registered AS registered,
         ${LATEST_CHANGE} AS dated_until,
         m.n AS n, m.id AS id, m.branch AS branch, m.total AS total
  FROM assistant_sessions s ${newest(sql, ownOf(sql, "t"))} WHERE s.id = ?`;

// Every append asks one of them. To write such a text anew takes as long as to find its prepared statement does.
const HEAD_QUERIES = {
  named: headQuery({ namesSessions: true }),
  numbered: headQuery({ namesSessions: false }),
};

type SessionHeadRow = [
  no: number,
  leaf: number | null,
  stale: number | null,
  skills: string | null,
  registered: number,
  datedUntil: string,
  n: number | null,
  id: string,
  branch: number,
  total: number | null,
];

/** The session's row and newest message, or null when nothing was ever written under this id. */
export function* findSessionHead(sql: Dialect, sessionId: string): Operation<SessionHead | null> {
  const query = sql.namesSessions ? HEAD_QUERIES.named : HEAD_QUERIES.numbered;
  const [row] = yield* tuples<SessionHeadRow>(query, ...idsOf(sql, sessionId), sessionId);
  if (row === undefined) return null;
  const [sessionNumber, leaf, stale, skills, registered, datedUntil, rowId, id, branch, total] = row;
  return {
    rows: rowsOf(sql, sessionId, sessionNumber),
    sessionNumber,
    leaf,
    stale,
    skills,
    registered: Number(registered),
    datedUntil,
    newest: rowId === null ? null : { rowId, id, branch, total },
  };
}

/** The session's row and newest message; the row is made for a session that has none yet. */
export function* openSessionHead(sql: Dialect, sessionId: string): Operation<SessionHead> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head !== null) return head;
  yield* makeRow(sql, sessionId);
  const query = "SELECT no, registered FROM assistant_sessions WHERE id = ?";
  const [[sessionNumber, registered]] = (yield* tuples(query, sessionId)) as [[no: number, registered: number]];
  floorOf(sessionNumber);
  const rows = rowsOf(sql, sessionId, sessionNumber);
  const none = { leaf: null, stale: null, skills: null, newest: null };
  return { ...none, rows, sessionNumber, registered: Number(registered), datedUntil: "" };
}

/** The rows of a session, or null when it is not registered. */
export function* findSessionRows(sql: Dialect, sessionId: string): Operation<SessionRows | null> {
  const number = yield* findSessionNumber(sessionId);
  return number === null ? null : rowsOf(sql, sessionId, number);
}

/** The number of a session, or null when it is not registered. */
export function* findSessionNumber(sessionId: string): Operation<number | null> {
  return (yield* column<number>("SELECT no FROM assistant_sessions WHERE id = ?", sessionId))[0] ?? null;
}

/**
 * Dates a session that messages were appended to, so that a list by the latest change finds it: at most once in a while, and
 * until then the row holds a time that is not before the latest append.
 */
export function* dateAppend({ rows, datedUntil }: SessionHead): Operation<void> {
  const now = isoNow();
  if (now <= datedUntil && datedUntil <= undatedUntil()) return;
  const update = `UPDATE assistant_sessions SET appended_until = ? WHERE ${rows.registered}no = ?`;
  yield* run(update, undatedUntil(), ...rows.ids, rows.sessionNumber);
}
