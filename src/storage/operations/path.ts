import type { CorruptHandler, Dialect } from "../engine/dialect.js";
import { first, type Operation, type SqlValue, tuples } from "../engine/operation.js";
import { ownOf, type SessionRows } from "../engine/session-rows.js";
import { damaged, reportDamage } from "./damage.js";
import type { MessagePosition } from "./message-position.js";
import { ceilingOf, floorOf, sessionOf } from "./row-id.js";

/**
 * A path is the messages from a root to a leaf. A branch is a run of messages of which each is the next one's parent; a
 * path crosses branches, and is one range of rows in each. Row ids grow along a path.
 */
export interface Segment {
  readonly branch: number;
  readonly lo: number;
  readonly hi: number;
}

// Each branch begins before those that come from it; damaged rows that say otherwise may make a circle.
const chainOf = (rows: SessionRows) => `
  WITH RECURSIVE chain (branch, lo, parent_branch, parent_n) AS (
    SELECT branch, lo, parent_branch, parent_n FROM assistant_branches WHERE ${rows.own}no = ? AND branch = ?
    UNION ALL
    SELECT b.branch, b.lo, b.parent_branch, b.parent_n
    FROM chain c JOIN assistant_branches b ON ${ownOf(rows, "b")}b.no = ? AND b.branch = c.parent_branch AND b.lo < c.lo
  )
  SELECT branch, lo, parent_branch, parent_n FROM chain`;

type BranchRow = [branch: number, lo: number, parentBranch: number | null, parentN: number | null];

/**
 * The path that ends with `leaf`, oldest range first. Errors: `CORRUPT_MESSAGE` where the rows of its branches do not fit
 * together; with `onCorrupt` that is told, and what is left of the path is given.
 */
export function* findSegments(
  rows: SessionRows,
  leaf: Pick<MessagePosition, "rowId" | "branch">,
  onCorrupt?: CorruptHandler,
): Operation<Segment[]> {
  const { sessionNumber } = rows;
  const segments: Segment[] = [];
  let branch: number | null = leaf.branch;
  let hi = leaf.rowId;
  if (branch !== 0) {
    for (const [own, lo, parentBranch, parentN] of yield* tuples<BranchRow>(
      chainOf(rows),
      ...[...rows.ids, sessionNumber, branch],
      ...[...rows.ids, sessionNumber],
    )) {
      // Row ids grow along a path.
      if (
        own !== branch ||
        lo > hi ||
        sessionOf(lo) !== sessionNumber ||
        (parentBranch === null) !== (parentN === null)
      )
        break;
      segments.push({ branch: own, lo, hi });
      branch = parentBranch;
      hi = parentN ?? 0;
    }
  }
  if ((branch !== null && branch !== 0) || (branch === 0 && hi < floorOf(sessionNumber))) {
    const details = { sessionNumber, branch };
    reportDamage(onCorrupt, "", damaged(details, `Branch ${branch} of a path is not where its rows say it is.`));
    // It may go round in a circle.
    if (segments.some((segment) => segment.branch === branch)) branch = null;
  }
  // The first branch of a session needs no row. Of one that is damaged, those of its messages that say so themselves.
  if (branch !== null) segments.push({ branch, lo: floorOf(sessionNumber), hi });
  return segments.reverse();
}

/**
 * True for a message `m` of a range `s`. A planner that joined them by the branch, as it can where two are equal, would read
 * every message of the store.
 */
const ON_SEGMENT = "m.n BETWEEN s.lo AND s.hi AND m.branch - s.branch = 0";

/**
 * The messages `m` of ranges `s`, to stand behind FROM. It binds the ranges, then the session. Where rows name their session,
 * those of a range are a query of their own: a planner would rather read all of the session, and compare.
 */
export function inRanges({ segmentTable, namesSessions }: Dialect): string {
  if (!namesSessions) return `${segmentTable} AS s CROSS JOIN assistant_messages m WHERE ${ON_SEGMENT}`;
  const rows = "assistant_messages m WHERE m.session_id = ? AND m.n BETWEEN s.lo AND s.hi";
  return `${segmentTable} AS s CROSS JOIN LATERAL (SELECT m.* FROM ${rows} OFFSET 0) AS m WHERE m.branch - s.branch = 0`;
}

/** A query of the rows of ranges that are in the order of a path, in that order; `columns` are those of `m`. */
export function selectRanges(
  sql: Dialect,
  rows: SessionRows,
  columns: string,
  ranges: readonly Segment[],
): [string, ...SqlValue[]] {
  const [only, ...others] = ranges;
  if (only !== undefined && others.length === 0) {
    const within = `${ownOf(rows, "m")}m.n BETWEEN ? AND ? AND m.branch = ? ORDER BY m.n`;
    return [`SELECT ${columns} FROM assistant_messages m WHERE ${within}`, ...rows.ids, only.lo, only.hi, only.branch];
  }
  // CROSS JOIN keeps the planner from scanning the session.
  return [
    `SELECT ${columns} FROM ${inRanges(sql)}${sql.segmentOrder}`,
    JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi])),
    ...rows.ids,
  ];
}

/** The first message of a branch in a range of rows, or in all from `lo` on. */
export function* firstOfBranch(
  { own, ids, sessionNumber }: SessionRows,
  branch: number,
  lo: number,
  hi: number = ceilingOf(sessionNumber),
): Operation<Pick<MessagePosition, "rowId" | "id"> | undefined> {
  const query = `SELECT n AS "rowId", id FROM assistant_messages WHERE ${own}n BETWEEN ? AND ? AND branch = ? ORDER BY n LIMIT 1`;
  return yield* first(query, ...ids, lo, hi, branch);
}

/** True when a row lies on a path. */
export function isOnPath(path: readonly Segment[], row: { readonly n: number; readonly branch: number }): boolean {
  return path.some(({ branch, lo, hi }) => branch === row.branch && lo <= row.n && row.n <= hi);
}
