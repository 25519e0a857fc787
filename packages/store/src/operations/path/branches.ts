import { type EncodedMessage, isStorableText, isSummaryMessage, type SessionMessage, setField } from "@stemma/model";
import type { Appended, Dialect } from "../../engine/dialect.js";
import { first, type Operation, ownOf, pause, type SessionRows, tuples } from "../../engine/operation.js";
import { type ContentTuple, readable, readRows } from "../messages/content.js";
import { damaged } from "../messages/damage.js";
import { append } from "../messages/messages.js";
import {
  assertWithin,
  ceilingOf,
  findNamed,
  findSessionHead,
  floorOf,
  type MessagePosition,
  messageNotFound,
  openSessionHead,
  POSITION,
  type SessionHead,
} from "../registry/session-head.js";
import { touchSession } from "../registry/sessions.js";
import { inListPortions } from "../row-portions.js";
import { readMessage } from "./path.js";

/** The operation behind `SessionStore.branches`. */
export function* readBranches(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage[]> {
  const parent = yield* openNamed(sql, sessionId, id);
  const [children = []] = yield* findChildren(sql, parent.rows, [parent.position], CONTENT);
  return yield* readChildren(parent.rows, children);
}

/** The operation behind `SessionStore.branchIds`. */
export function* readBranchIds(sql: Dialect, sessionId: string, id: string): Operation<string[]> {
  const parent = yield* openNamed(sql, sessionId, id);
  const [children = []] = yield* findChildren(sql, parent.rows, [parent.position]);
  return children.map((child) => child.id);
}

/** The operation behind `SessionStore.siblings`. */
export function* readSiblings(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage[]> {
  const { position, parent } = yield* findWithParent(sql, sessionId, id);
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, position);
  const { rows } = head as SessionHead;
  const [children = []] = yield* findChildren(sql, rows, [parent], CONTENT);
  assertAmong(children, position);
  return yield* readChildren(rows, children);
}

/** The operation behind `SessionStore.siblingIds`. */
export function* readSiblingIds(
  sql: Dialect,
  sessionId: string,
  ids: readonly string[],
): Operation<Record<string, string[]>> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return {};
  const found: WithParent[] = [];
  const parents = new Map<string | undefined, MessagePosition | null>();
  yield* inListPortions(sql, ids, function* (some) {
    for (const each of yield* findAllWithParents(sql, sessionId, some)) {
      assertWithin(head, each.position);
      found.push(each);
      parents.set(each.parent?.id, each.parent);
    }
  });
  yield* pause();
  // In their order, each branch that begins below them is read once.
  const ordered = [...parents.values()].sort((a, b) => (a?.rowId ?? 0) - (b?.rowId ?? 0));
  const byParent = new Map<string | undefined, Child[]>();
  yield* inListPortions(sql, ordered, function* (some) {
    const families = yield* findChildren(sql, head.rows, some);
    for (const [index, parent] of some.entries()) byParent.set(parent?.id, families[index] as Child[]);
  });
  const siblingIds: Record<string, string[]> = {};
  yield* inListPortions(sql, found, function* (some) {
    for (const { position, parent } of some) {
      const siblings = byParent.get(parent?.id) as Child[];
      assertAmong(siblings, position);
      setField(
        siblingIds,
        position.id,
        siblings.map((sibling) => sibling.id),
      );
    }
    yield* pause();
  });
  return siblingIds;
}

function* openNamed(sql: Dialect, sessionId: string, id: string) {
  const position = (yield* findNamed(sql, sessionId, id)) ?? messageNotFound(sessionId, id);
  const head = yield* findSessionHead(sql, sessionId);
  assertWithin(head, position);
  return { position, rows: (head as SessionHead).rows };
}

function assertAmong(children: readonly Child[], { rowId, id }: MessagePosition): void {
  if (children.some((child) => child.rowId === rowId)) return;
  throw damaged({ messageId: id }, `Message "${id}" does not hang where it says.`);
}

/** The operation behind `SessionStore.parent`. */
export function* readParent(sql: Dialect, sessionId: string, id: string): Operation<SessionMessage | null> {
  const { parent } = yield* findWithParent(sql, sessionId, id);
  return parent === null ? null : yield* readMessage(sql, sessionId, parent.id);
}

/** The operation behind `SessionStore.appendSibling`. */
export function* appendSibling(
  sql: Dialect,
  sessionId: string,
  id: string,
  message: EncodedMessage,
): Operation<Appended> {
  const { parent } = yield* findWithParent(sql, sessionId, id);
  return yield* append(sql, sessionId, [message], parent?.id ?? null);
}

/** The operation behind `SessionStore.selectBranch`. */
export function* selectBranch(sql: Dialect, sessionId: string, messageId: string): Operation<SessionMessage> {
  const position = (yield* findNamed(sql, sessionId, messageId)) ?? messageNotFound(sessionId, messageId);
  const head = yield* openSessionHead(sql, sessionId);
  assertWithin(head, position);
  const leaf = yield* findNewestBelow(sql, head, position);
  yield* touchSession(head.rows, leaf.rowId === head.newest?.rowId ? null : leaf.rowId, head.stale);
  return (yield* readMessage(sql, sessionId, leaf.id)) ?? messageNotFound(sessionId, leaf.id);
}

interface Child {
  readonly rowId: number;
  readonly id: string;
  readonly parentId: string | null;
  /** "" where it was not asked for. */
  readonly content: string;
}

const CONTENT = "m.content";

type BranchStart = [branch: number, lo: number, parentBranch: number | null, parentN: number | null];
type FirstRow = [branch: number, lo: number, rowId: number, id: string, parentId: string | null, content: string];

// For each of `parents` the rows below it, or the roots for null: the next one of its own branch, and the first one of each
// branch that begins below it.
function* findChildren(
  sql: Dialect,
  rows: SessionRows,
  parents: readonly (MessagePosition | null)[],
  content: typeof CONTENT | "''" = "''",
): Operation<Child[][]> {
  const begun = yield* branchesBelow(rows, parents);
  const families = parents.map((parent) => {
    const own: Start = parent === null ? [0, floorOf(rows.sessionNumber)] : [parent.branch, parent.rowId + 1];
    return { parent, own, starts: [own, ...(begun.get(keyOf(parent?.branch, parent?.rowId)) ?? [])] };
  });
  const firsts = yield* firstRows(
    sql,
    rows,
    families.flatMap(({ starts }) => starts),
    content,
  );
  return families.map(({ parent, own, starts }) => {
    const children = starts.flatMap((start) => {
      const child = firsts.get(keyOf(...start));
      // Where the parent's own branch ends, none follows; a branch that began below it has one.
      if (child === undefined ? start !== own : child.parentId !== (parent?.id ?? null)) {
        const id = parent?.id ?? "";
        throw damaged({ messageId: id }, `What hangs below message "${id}" does not say so.`);
      }
      return child ?? [];
    });
    return children.sort((a, b) => a.rowId - b.rowId);
  });
}

/** Where a branch is looked into, and from which row on. */
type Start = readonly [branch: number, lo: number];

const keyOf = (branch: number | undefined, rowId: number | undefined) => `${branch ?? null}/${rowId ?? null}`;

// The branches that begin below rows, by the place of the row.
function* branchesBelow(
  rows: SessionRows,
  parents: readonly (MessagePosition | null)[],
): Operation<Map<string, Start[]>> {
  // Nothing has the row id 0, so it stands for the parent of roots.
  const rowIds = parents.map((parent) => parent?.rowId ?? 0);
  const lo = rowIds.reduce((least, rowId) => Math.min(least, rowId), Infinity);
  const hi = rowIds.reduce((most, rowId) => Math.max(most, rowId), 0);
  const begun = new Map<string, Start[]>();
  const found = yield* tuples<BranchStart>(
    ...rows.whereNumber(
      "SELECT branch, lo, parent_branch, parent_n FROM assistant_branches",
      " AND coalesce(parent_n, 0) BETWEEN ? AND ?",
      lo,
      hi,
    ),
  );
  for (const [branch, from, parentBranch, parentN] of found) {
    const key = keyOf(parentBranch ?? undefined, parentN ?? undefined);
    const starts = begun.get(key);
    if (starts === undefined) begun.set(key, [[branch, from]]);
    else starts.push([branch, from]);
  }
  return begun;
}

// The first row of each branch from a row on, by branch and that row.
function* firstRows(
  sql: Dialect,
  rows: SessionRows,
  starts: readonly Start[],
  content: string,
): Operation<Map<string, Child>> {
  const { sessionNumber } = rows;
  const query = `SELECT c.branch, c.lo, m.n, m.id, m.parent_id, ${content}
     FROM (SELECT s.branch AS branch, s.lo AS lo, (
         SELECT f.n FROM assistant_messages f
         WHERE ${ownOf(rows, "f")}f.n BETWEEN s.lo AND s.hi AND f.branch = s.branch ORDER BY f.n LIMIT 1) AS n
       FROM ${sql.segmentTable} AS s) AS c
     JOIN assistant_messages m ON ${ownOf(rows, "m")}m.n = c.n`;
  const ranges = JSON.stringify(starts.map(([branch, lo]) => [branch, lo, ceilingOf(sessionNumber)]));
  const found = yield* tuples<FirstRow>(query, ...rows.ids, ranges, ...rows.ids);
  return new Map(
    found.map(([branch, lo, rowId, id, parentId, text]) => [keyOf(branch, lo), { rowId, id, parentId, content: text }]),
  );
}

function* readChildren(rows: SessionRows, children: readonly Child[]): Operation<SessionMessage[]> {
  const found = children.map(({ rowId, content }): ContentTuple => [rowId, content]);
  return readable(yield* readRows(rows, found));
}

type BranchBelow = [branch: number, parentBranch: number | null, parentN: number | null];

// The newest row of the branches that `position` leads to: row ids grow along a path, so it is a leaf. Where a branch ends,
// no row says; what is read are the rows that are newer than the leaf, without their content.
function* findNewestBelow(sql: Dialect, head: SessionHead, position: MessagePosition): Operation<MessagePosition> {
  const { rows, newest } = head;
  const behind = yield* tuples<BranchBelow>(
    ...rows.whereNumber(
      "SELECT branch, parent_branch, parent_n FROM assistant_branches",
      " AND lo > ? ORDER BY lo",
      position.rowId,
    ),
  );
  const below = new Set([position.branch]);
  for (const [branch, parentBranch, parentN] of behind) {
    if (parentBranch === null || parentN === null) continue;
    if (below.has(parentBranch) && (parentBranch !== position.branch || parentN >= position.rowId)) below.add(branch);
  }
  if (newest !== null && below.has(newest.branch)) return newest;
  // IS TRUE keeps Postgres from making a join of it.
  const leaf = yield* first<MessagePosition>(
    ...rows.where(
      `SELECT ${POSITION} FROM assistant_messages`,
      `n BETWEEN ? AND ? AND (branch IN (SELECT s.branch FROM ${sql.segmentTable} AS s)) IS TRUE
     ORDER BY n DESC LIMIT 1`,
      position.rowId,
      ceilingOf(rows.sessionNumber),
      JSON.stringify([...below].map((branch) => [branch])),
    ),
  );
  return leaf ?? position;
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

/** Several messages with their parents, in any order, without those that are not there. A summary's id names none. */
export function* findAllWithParents(sql: Dialect, sessionId: string, ids: readonly string[]): Operation<WithParent[]> {
  const query = `SELECT ${COLUMNS} FROM ${sql.textTable} AS g CROSS JOIN assistant_messages m ${PARENT}
    WHERE m.session_id = ? AND m.id = g.text`;
  const rows = yield* tuples<WithParentRow>(query, JSON.stringify([...new Set(ids)].filter(isStorableText)), sessionId);
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
