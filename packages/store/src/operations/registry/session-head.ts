// A session's row with its newest message, which every write begins with, and the numbers that rows have.
import { isSummaryMessage, NO_SKILLS, noMessage, type SkillState, StemmaError, SUMMARY_ID_PREFIX } from "@stemma/model";
import type { CorruptHandler, Dialect } from "../../engine/dialect.js";
import {
  column,
  first,
  idsOf,
  insert,
  type Operation,
  OR_KEEP,
  ownOf,
  rowsOf,
  run,
  type SessionRows,
  type SqlValue,
  sameSession,
  tuples,
} from "../../engine/operation.js";
import { damaged, reportDamage } from "../messages/damage.js";

// Where a session stands: the row ids of its messages, its row with the newest of them, its active leaf, and the time of its latest change.

/**
 * A message's row id `n` packs its session's number with the message's number in the session, so that one session is
 * one contiguous range, and the order in it is the row id, never a clock. Where rows name their session, sessions may share
 * a number: then a row is the session's id with the row id.
 */
export const SPAN = 2 ** 28;

/** The highest number of a session. */
export const MAX_NUMBER = 2 ** 53 / SPAN - 1;

/** The row id below every message of session `no`. */
export function floorOf(sessionNumber: number): number {
  if (sessionNumber > MAX_NUMBER) {
    const message = `A store has at most ${MAX_NUMBER} sessions at once; delete some, or start another one.`;
    throw new StemmaError("SESSION_LIMIT", { no: sessionNumber }, message);
  }
  return sessionNumber * SPAN;
}

/** The last row id that session `no` can have. */
export function ceilingOf(sessionNumber: number): number {
  return sessionNumber * SPAN + SPAN - 1;
}

/** The number of the session that row `n` belongs to. */
export function sessionOf(rowId: number): number {
  return Math.floor(rowId / SPAN);
}

/** The row id after `n`, in the same session. */
export function nextPosition(sessionNumber: number, rowId: number): number {
  if (rowId >= ceilingOf(sessionNumber)) {
    const message = `A session numbers at most ${SPAN - 1} messages; continue in a fork.`;
    throw new StemmaError("SESSION_LIMIT", { no: sessionNumber }, message);
  }
  return rowId + 1;
}

/** SQL for the lowest and highest row id of the session whose number is in column `no`. */
export const SESSION_RANGE = (sessionNumber: string) =>
  `${sessionNumber} * ${SPAN} AND ${sessionNumber} * ${SPAN} + ${SPAN - 1}`;

/** Where a message stands, without its content. */
export interface MessagePosition {
  readonly rowId: number;
  readonly id: string;
  readonly branch: number;
  /** Estimated tokens of the visible history up to here, as of when the row was written. */
  readonly total: number | null;
}

/** The columns of a row that a `MessagePosition` has. */
export const POSITION = 'n AS "rowId", id, branch, total';
/** A query of positions, to stand before WHERE. */
export const FIND_POSITION = `SELECT ${POSITION} FROM assistant_messages`;

/** Where a message of the session is, or null. */
export function* findPosition(sessionId: string, id: string): Operation<MessagePosition | null> {
  return (yield* first<MessagePosition>(`${FIND_POSITION} WHERE session_id = ? AND id = ?`, sessionId, id)) ?? null;
}

/** Where a message of the session is, or null. The id of a summary stands for the last message under it: what a host reads in a history, it may name. */
export function* findNamed(sql: Dialect, sessionId: string, id: string): Operation<MessagePosition | null> {
  if (!isSummaryMessage({ id })) return yield* findPosition(sessionId, id);
  const under = `SELECT m.n AS "rowId", m.id, m.branch, m.total
    FROM assistant_compactions c JOIN assistant_messages m ON ${sameSession(sql, "m", "c")}m.n = c.to_n
    WHERE c.session_id = ? AND c.id = ?`;
  const position = yield* first<MessagePosition>(under, sessionId, id.slice(SUMMARY_ID_PREFIX.length));
  // An upgrade may have brought a message along whose id looks like a summary's.
  return position ?? (yield* findPosition(sessionId, id));
}

/** Errors: `CORRUPT_MESSAGE` for a row of a session that stands among those of another number. */
export function assertWithin(
  session: { readonly sessionNumber: number } | null,
  { rowId, id }: Pick<MessagePosition, "rowId" | "id">,
): void {
  if (session?.sessionNumber === sessionOf(rowId)) return;
  const why =
    session === null
      ? `Message "${id}" is there, but its session's row is not.`
      : `Message "${id}" stands among the rows of another session.`;
  throw damaged({ messageId: id }, why);
}

/** Errors: `MESSAGE_NOT_FOUND`. */
export function messageNotFound(sessionId: string, messageId: string): never {
  throw noMessage(sessionId, messageId);
}

/**
 * How long after an append further ones leave the session's row alone, in seconds. Until then the row says no more than that
 * the session changed before `appended_until`, and its newest message tells when.
 */
export const APPENDS_UNDATED = 1;

/** SQL for a time that is not before the latest change of a session. It is that time where `appended_until` is not later than `updated_at`. */
export const LATEST_CHANGE = "CASE WHEN appended_until > updated_at THEN appended_until ELSE updated_at END";

/** The columns of a session's row beside its registry fields. */
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
  /** The row says that everything was learned from. */
  readonly isLearned: boolean;
}

// Joins the newest message `m` of the session `s`; it binds what `own` binds. Where rows name their session, one look by the
// index finds the row: two would be planned as a join with all of the session.
function newest({ layout }: Pick<Dialect, "layout">, own: string): string {
  const last = (columns: string) =>
    `(SELECT ${columns} FROM assistant_messages t WHERE ${own}t.n BETWEEN ${SESSION_RANGE("s.no")} ORDER BY t.n DESC LIMIT 1)`;
  return layout !== "local"
    ? `LEFT JOIN LATERAL ${last("t.n, t.id, t.branch, t.total")} AS m ON TRUE`
    : `LEFT JOIN assistant_messages m ON m.n = ${last("t.n")}`;
}

const headQuery = (sql: Pick<Dialect, "layout">) => `
  SELECT s.no AS no, s.leaf AS leaf, s.stale AS stale, s.skills AS skills, s.registered AS registered,
         ${LATEST_CHANGE} AS dated_until,
         m.n AS n, m.id AS id, m.branch AS branch, m.total AS total, s.learned AS learned
  FROM assistant_sessions s ${newest(sql, ownOf(sql, "t"))} WHERE s.id = ?`;

// Every append asks one of them. To write such a text anew takes as long as to find its prepared statement does.
const HEAD_QUERIES = {
  local: headQuery({ layout: "local" }),
  server: headQuery({ layout: "server" }),
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
  learned: number | null,
];

/** A session's row and newest message, or null when nothing was ever written under this id. */
export function* findSessionHead(sql: Pick<Dialect, "layout">, sessionId: string): Operation<SessionHead | null> {
  const query = HEAD_QUERIES[sql.layout === "local" ? "local" : "server"];
  const [row] = yield* tuples<SessionHeadRow>(query, ...idsOf(sql, sessionId), sessionId);
  if (row === undefined) return null;
  const [sessionNumber, leaf, stale, skills, registered, datedUntil, rowId, id, branch, total, learned] = row;
  return {
    rows: rowsOf(sql, sessionId, sessionNumber),
    sessionNumber,
    leaf,
    stale,
    skills,
    registered: Number(registered),
    datedUntil,
    isLearned: learned !== null,
    newest: rowId === null ? null : { rowId, id, branch, total },
  };
}

/** The head of a session, with a row made for one that has none yet. */
export function* openSessionHead(sql: Dialect, sessionId: string): Operation<SessionHead> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head !== null) return head;
  yield* makeRow(sql, sessionId);
  const query = "SELECT no, registered FROM assistant_sessions WHERE id = ?";
  const [[sessionNumber, registered]] = (yield* tuples(query, sessionId)) as [[no: number, registered: number]];
  floorOf(sessionNumber);
  const rows = rowsOf(sql, sessionId, sessionNumber);
  const none = { leaf: null, stale: null, skills: null, isLearned: false, newest: null };
  return { ...none, rows, sessionNumber, registered: Number(registered), datedUntil: "" };
}

/** The rows of a session, or null when it is not registered. */
export function* findSessionRows(sql: Dialect, sessionId: string): Operation<SessionRows | null> {
  const number = yield* findSessionNumber(sessionId);
  return number === null ? null : rowsOf(sql, sessionId, number);
}

/** The number of a session, or null when it is not registered. */
export function* findSessionNumber(sessionId: string): Operation<number | null> {
  // None has such an id. Not every client takes a null alone, which it would become.
  if (!sessionId.isWellFormed()) return null;
  return (yield* column<number>("SELECT no FROM assistant_sessions WHERE id = ?", sessionId))[0] ?? null;
}

/** The `leaf` of a session's row where no message is its active leaf. */
export const NO_LEAF = 0;

/** Where the active leaf is, or null in a session without one. Errors: `CORRUPT_MESSAGE` where the one that was chosen is gone. */
export function* activeLeaf(head: SessionHead, onCorrupt?: CorruptHandler): Operation<MessagePosition | null> {
  if (head.leaf === null) return head.newest;
  if (head.leaf === NO_LEAF) return null;
  const { rows } = head;
  const position =
    sessionOf(head.leaf) === head.sessionNumber
      ? yield* first<MessagePosition>(...rows.where(`${FIND_POSITION}`, "n = ?", head.leaf))
      : undefined;
  if (position !== undefined) return position;
  const why = "The active leaf of the session is no message of it.";
  reportDamage(onCorrupt, "", damaged({ sessionNumber: head.sessionNumber }, why));
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

/** The skill state that a session's row holds. Errors: `CORRUPT_MESSAGE`; with `onCorrupt` it is told, and none is given. */
export function skillsOf(row: Pick<SessionRow, "sessionNumber" | "skills">, onCorrupt?: CorruptHandler): SkillState {
  if (row.skills === null) return NO_SKILLS;
  const state = parseSkills(row.skills);
  if (state !== null) return state;
  const why = "Which skills the session loaded cannot be read.";
  reportDamage(onCorrupt, "", damaged({ sessionNumber: row.sessionNumber }, why));
  return NO_SKILLS;
}

/** The skill state of its JSON, or null for what is none. */
export function parseSkills(json: unknown): SkillState | null {
  try {
    const state = JSON.parse(String(json)) as SkillState;
    const all = [...state.loaded, ...state.unloaded];
    const isState = all.every(
      ({ label, key, toolCallIds }) =>
        typeof label === "string" && typeof key === "string" && Array.isArray(toolCallIds),
    );
    return isState && state.unloaded.every(({ through }) => typeof through === "number") ? state : null;
  } catch {
    return null;
  }
}

/** Writes a session's row, with what `values` say. False where there is one of its id. Errors: `SESSION_LIMIT`. */
export function* insertSession(sql: Dialect, values: Readonly<Record<string, SqlValue>>): Operation<boolean> {
  const row = sql.layout === "local" ? { ...(yield* numbered()), ...values } : values;
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
  return yield* insertSession(sql, newSession(sessionId));
}

function newSession(sessionId: string): Readonly<Record<string, SqlValue>> {
  const now = isoNow();
  return { id: sessionId, name: sessionId, created_at: now, updated_at: now };
}

/**
 * Dates a session that messages were appended to, so that a list by the latest change finds it: at most once in a while, and
 * until then the row holds a time that is not before the latest append.
 */
export function* dateAppend({ rows, datedUntil, isLearned }: SessionHead): Operation<void> {
  const now = isoNow();
  if (!isLearned && now <= datedUntil && datedUntil <= written.until) return;
  const update = "UPDATE assistant_sessions SET appended_until = ?, learned = NULL";
  yield* run(...rows.whereRegistered(update, written.until));
}

// The time that was asked for last, as texts: also until when the row of a session need not be dated again that is dated now. A text
// takes longer to write than all else that an append does with it.
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
