import { isSummaryMessage, noMessage, StemmaError, SUMMARY_ID_PREFIX } from "@stemma/model";
import type { CorruptHandler, Dialect } from "../../engine/dialect.js";
import { first, type Operation, sameSession, tuples } from "../../engine/operation.js";
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

const ADVICE = "Run `stemma check --repair`, or store.check({ repair: true }).";

/** The error for rows that do not fit together: each can be read, but not what they say of each other. */
export function damaged(details: { readonly [name: string]: unknown }, why: string): StemmaError {
  return new StemmaError("CORRUPT_MESSAGE", details, `${why} ${ADVICE}`);
}

/** The same, handed to `onCorrupt` where the reader gave one. `id` is the message whose row is meant, if it has one. */
export function reportDamage(onCorrupt: CorruptHandler, id: string, error: StemmaError): void {
  if (onCorrupt === undefined) throw error;
  onCorrupt({ id, error });
}

/** The row after `last`, for whoever reads on. A damaged file may give rows in another order, and no end of them. */
export function rowAfter(last: number, from: number): number {
  assertOrder(last >= from);
  return last + 1;
}

/** For whoever reads on behind keys. Engines order texts each in their own way, so only an end that comes twice tells. */
export function watchEnds(): (...end: readonly unknown[]) => void {
  const ends = new Set<string>();
  return (...end) => {
    const text = JSON.stringify(end);
    assertOrder(!ends.has(text));
    ends.add(text);
  };
}

/** For whoever reads page by page, behind the row at which the page before ended. */
export function assertOrder(isBehind: boolean): void {
  if (isBehind) return;
  throw new StemmaError("STORE_FAILED", {}, "A table gives its rows in no order: the database file is damaged.");
}

const COLUMNS = `m.n AS n, m.id AS id, m.branch AS branch, m.total AS total,
         m.parent_id AS parent_id, p.n AS parent_n, p.branch AS parent_branch, p.total AS parent_total`;
const PARENT = "LEFT JOIN assistant_messages p ON p.session_id = m.session_id AND p.id = m.parent_id";
const WITH_PARENT = `
  SELECT ${COLUMNS}
  FROM assistant_messages m ${PARENT}
  WHERE m.session_id = ? AND m.id = ?`;

type WithParentRow = [
  n: number,
  id: string,
  branch: number,
  total: number | null,
  parentId: string | null,
  parentN: number | null,
  parentBranch: number,
  parentTotal: number | null,
];

/** A message may be named by the summary under which it is the last. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
export function* findWithParent(sql: Dialect, sessionId: string, name: string): Operation<WithParent> {
  const named = isSummaryMessage({ id: name }) ? (yield* findNamed(sql, sessionId, name))?.id : name;
  const found = named === undefined ? null : yield* findPositionAndParent(sessionId, named);
  if (found === null) return messageNotFound(sessionId, name);
  return inOrder(found);
}

/** The same of several messages, in any order, without those that are not there. A summary's id names none. */
export function* findAllWithParents(sql: Dialect, sessionId: string, ids: readonly string[]): Operation<WithParent[]> {
  const query = `SELECT ${COLUMNS} FROM ${sql.textTable} AS g CROSS JOIN assistant_messages m ${PARENT}
    WHERE m.session_id = ? AND m.id = g.text`;
  const rows = yield* tuples<WithParentRow>(query, JSON.stringify([...new Set(ids)]), sessionId);
  return rows.map((row) => inOrder(readRow(row)));
}

function inOrder({ position, parentId, parent }: PositionAndParent): WithParent {
  if (parentId !== null && (parent === null || parent.rowId >= position.rowId)) {
    throw damaged({ messageId: position.id }, `The parent of message "${position.id}" is not before it.`);
  }
  return { position, parent };
}

/** Where a message is, or null; and its parent, which is null too where the row that it names is not there. */
export function* findPositionAndParent(sessionId: string, messageId: string): Operation<PositionAndParent | null> {
  const [row] = yield* tuples<WithParentRow>(WITH_PARENT, sessionId, messageId);
  return row === undefined ? null : readRow(row);
}

function readRow(row: WithParentRow): PositionAndParent {
  const [rowId, id, branch, total, parentId, parentN, parentBranch, parentTotal] = row;
  const isThere = parentId !== null && parentN !== null;
  const parent = isThere ? { rowId: parentN, id: parentId, branch: parentBranch, total: parentTotal } : null;
  return { position: { rowId, id, branch, total }, parentId, parent };
}

export interface WithParent {
  readonly position: MessagePosition;
  /** Null for a root. */
  readonly parent: MessagePosition | null;
}

interface PositionAndParent extends WithParent {
  readonly parentId: string | null;
}
