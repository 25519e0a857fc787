import { isSummaryMessage, SUMMARY_ID_PREFIX } from "../../model/message.js";
import { noMessage } from "../../model/tree-errors.js";
import type { CorruptHandler, Dialect } from "../engine/dialect.js";
import { column, count, first, type Operation, run, tuples } from "../engine/operation.js";
import { idsOf, ownOf, rowsOf, type SessionRows, sameSession } from "../engine/session-rows.js";
import { isScope, UPGRADED_ROWS } from "../session-id.js";
import { damaged, reportDamage } from "./damage.js";
import { insertSession } from "./register.js";
import { floorOf, SESSION_RANGE, sessionOf } from "./row-id.js";
import { APPENDS_UNDATED, LATEST_CHANGE } from "./session-order.js";

/** What a session's row says where no message is its active leaf. */
export const NO_LEAF = 0;

/** What a session's row holds beside its registry fields. */
export interface SessionRow {
  readonly sessionNumber: number;
  /** The active leaf: null the newest row, 0 none, otherwise a row id. */
  readonly leaf: number | null;
  /** Running totals of the rows up to this one are out of date; null when all are right. */
  readonly stale: number | null;
  /** JSON of the skill state; null when no skill was loaded yet. */
  readonly skills: string | null;
  /** Tells the session from one of its id and number that was deleted; null where it was registered by an earlier version. */
  readonly registered: number | null;
}

/** Where a message stands, without its content. */
export interface MessagePosition {
  readonly rowId: number;
  readonly id: string;
  readonly branch: number;
  /** Estimated tokens of the visible history up to here, as of when the row was written. */
  readonly total: number | null;
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

const headQuery = (sql: Pick<Dialect, "namesSessions">, { dated, registered }: typeof OWN_COLUMNS) => `
  SELECT s.no AS no, s.leaf AS leaf, s.stale AS stale, s.skills AS skills, ${registered} AS registered,
         ${dated} AS dated_until,
         m.n AS n, m.id AS id, m.branch AS branch, m.total AS total
  FROM assistant_sessions s ${newest(sql, ownOf(sql, "t"))} WHERE s.id = ?`;

const OWN_COLUMNS = { dated: LATEST_CHANGE, registered: "s.registered" };

// Every append asks one of them. To write such a text anew takes as long as to find its prepared statement does.
const HEAD_QUERIES = {
  named: headQuery({ namesSessions: true }, OWN_COLUMNS),
  numbered: headQuery({ namesSessions: false }, OWN_COLUMNS),
};

type SessionHeadRow = [
  no: number,
  leaf: number | null,
  stale: number | null,
  skills: string | null,
  registered: number | null,
  datedUntil: string,
  n: number | null,
  id: string,
  branch: number,
  total: number | null,
];

/** The session's row and newest message, or null when nothing was ever written under this id. */
export function* findSessionHead(
  sql: Dialect,
  sessionId: string,
  columns = OWN_COLUMNS,
): Operation<SessionHead | null> {
  const known = sql.namesSessions ? HEAD_QUERIES.named : HEAD_QUERIES.numbered;
  const query = columns === OWN_COLUMNS ? known : headQuery(sql, columns);
  const [row] = yield* tuples<SessionHeadRow>(query, ...idsOf(sql, sessionId), sessionId);
  if (row === undefined) return null;
  const [sessionNumber, leaf, stale, skills, registered, datedUntil, rowId, id, branch, total] = row;
  return {
    rows: rowsOf(sql, sessionId, sessionNumber),
    sessionNumber,
    leaf,
    stale,
    skills,
    registered: registered === null ? null : Number(registered),
    datedUntil,
    newest: rowId === null ? null : { rowId, id, branch, total },
  };
}

/** The same, with a row made for a session that has none yet. */
export function* openSessionHead(sql: Dialect, sessionId: string, columns = OWN_COLUMNS): Operation<SessionHead> {
  const head = yield* findSessionHead(sql, sessionId, columns);
  if (head !== null) return head;
  yield* makeRow(sql, sessionId);
  const sessionNumber = (yield* findSessionNumber(sessionId)) as number;
  floorOf(sessionNumber);
  const rows = rowsOf(sql, sessionId, sessionNumber);
  const none = { leaf: null, stale: null, skills: null, registered: null };
  return { ...none, rows, sessionNumber, datedUntil: "", newest: null };
}

/** The same while tables of version 1 are made, whose appends date no session, and which nobody else has. */
export function openFirstHead(sql: Dialect, sessionId: string): Operation<SessionHead> {
  return openSessionHead({ ...sql, lockSession: null }, sessionId, { dated: "s.updated_at", registered: "NULL" });
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
 * Dates a session that something beside its messages is about to be written for, and registers one that has no row yet. The
 * unnamed one waits for its first message. It comes before that write: whoever locks a session's row does so first. A scope
 * is no session.
 */
export function* dateSession(sql: Dialect, sessionId: string): Operation<void> {
  if (isScope(sessionId) || sessionId === UPGRADED_ROWS) return;
  // Who else registers it meanwhile, or deletes it, has ended before a row is made.
  for (let isThere = false; !isThere; ) {
    const values = [isoNow(), sessionId];
    isThere =
      (yield* count("UPDATE assistant_sessions SET updated_at = ?, changes = changes + 1 WHERE id = ?", values)) > 0;
    if (!isThere && (sessionId === "" || (yield* makeRow(sql, sessionId)))) return;
  }
}

/**
 * Dates a session that messages were appended to, so that a list by the latest change finds it: at most once in a while, and
 * until then the row holds a time that is not before the latest append.
 */
export function* dateAppend({ rows, datedUntil }: SessionHead): Operation<void> {
  const now = isoNow();
  if (now <= datedUntil && datedUntil <= written.until) return;
  yield* run(
    `UPDATE assistant_sessions SET appended_until = ? WHERE ${rows.registered}no = ?`,
    written.until,
    ...rows.ids,
    rows.sessionNumber,
  );
}

/** Registers a session. False where it is registered already. */
export function* makeRow(sql: Dialect, sessionId: string): Operation<boolean> {
  // Who locked a session that has no row is not met by a row of it.
  if (sql.lockSession !== null) yield* sql.lockSession(sessionId);
  const now = isoNow();
  return yield* insertSession(sql, { id: sessionId, name: sessionId, created_at: now, updated_at: now });
}

/** The columns of a row that a `MessagePosition` has. */
export const POSITION = 'n AS "rowId", id, branch, total';
const FIND_POSITION = `SELECT ${POSITION} FROM assistant_messages`;

/** Where a message of the session is, or null. */
export function* findPosition(sessionId: string, id: string): Operation<MessagePosition | null> {
  return (yield* first<MessagePosition>(`${FIND_POSITION} WHERE session_id = ? AND id = ?`, sessionId, id)) ?? null;
}

/** The same, where the id of a summary stands for the last message under it: what a host reads in a history, it may name. */
export function* findNamed(sql: Dialect, sessionId: string, id: string): Operation<MessagePosition | null> {
  if (!isSummaryMessage({ id })) return yield* findPosition(sessionId, id);
  const under = `SELECT m.n AS "rowId", m.id, m.branch, m.total
    FROM assistant_compactions c JOIN assistant_messages m ON ${sameSession(sql, "m", "c")}m.n = c.to_n
    WHERE c.session_id = ? AND c.id = ?`;
  const position = yield* first<MessagePosition>(under, sessionId, id.slice(SUMMARY_ID_PREFIX.length));
  // An upgrade may have brought a message along whose id looks like a summary's.
  return position ?? (yield* findPosition(sessionId, id));
}

/** Where the active leaf is, or null in a session without one. Errors: `CORRUPT_MESSAGE` where the one that was chosen is gone. */
export function* activeLeaf(head: SessionHead, onCorrupt?: CorruptHandler): Operation<MessagePosition | null> {
  if (head.leaf === null) return head.newest;
  if (head.leaf === NO_LEAF) return null;
  const { rows } = head;
  const position =
    sessionOf(head.leaf) === head.sessionNumber
      ? yield* first<MessagePosition>(`${FIND_POSITION} WHERE ${rows.own}n = ?`, ...rows.ids, head.leaf)
      : undefined;
  if (position !== undefined) return position;
  reportDamage(
    onCorrupt,
    "",
    damaged({ sessionNumber: head.sessionNumber }, "The active leaf of the session is no message of it."),
  );
  return head.newest;
}

/**
 * A session's row, and the message that a read of it ends with: `leafId`, or the active leaf. Null in a session without an
 * active leaf. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
 */
export function* findLeaf(
  sql: Dialect,
  sessionId: string,
  leafId: string | undefined,
  onCorrupt?: CorruptHandler,
): Operation<{ readonly head: SessionHead; readonly leaf: MessagePosition } | null> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return leafId === undefined ? null : messageNotFound(sessionId, leafId);
  if (leafId === undefined) {
    const leaf = yield* activeLeaf(head, onCorrupt);
    return leaf === null ? null : { head, leaf };
  }
  const leaf = (yield* findNamed(sql, sessionId, leafId)) ?? messageNotFound(sessionId, leafId);
  assertWithin(head, leaf);
  return { head, leaf };
}

/** Errors: `CORRUPT_MESSAGE` for a row of a session that stands among those of another number. */
export function assertWithin(
  session: Pick<SessionRow, "sessionNumber"> | null,
  { rowId, id }: Pick<MessagePosition, "rowId" | "id">,
): void {
  if (session?.sessionNumber === sessionOf(rowId)) return;
  const why =
    session === null
      ? `Message "${id}" is there, but its session's row is not.`
      : `Message "${id}" stands among the rows of another session.`;
  throw damaged({ messageId: id }, why);
}

/** Stores what changed in a session's row other than by a plain append. */
export function* touchSession(rows: SessionRows, leaf: number | null, stale: number | null): Operation<void> {
  yield* run(
    `UPDATE assistant_sessions SET leaf = ?, stale = ?, updated_at = ?, changes = changes + 1 WHERE ${rows.registered}no = ?`,
    leaf,
    stale,
    isoNow(),
    ...rows.ids,
    rows.sessionNumber,
  );
}

export function messageNotFound(sessionId: string, messageId: string): never {
  throw noMessage(sessionId, messageId);
}

// The time that was asked for last, as texts. A text takes longer to write than all else that an append does with it.
let written = { time: 0, now: "", until: "" };

/** The time now as every table writes it. */
export function isoNow(): string {
  const time = Date.now();
  if (time !== written.time) {
    const until = new Date(time + APPENDS_UNDATED * 1000).toISOString();
    written = { time, now: new Date(time).toISOString(), until };
  }
  return written.now;
}
