import { SUMMARY_ID_PREFIX, selectCompactions } from "@stemma/model";
import type { CorruptHandler, Dialect } from "../../engine/dialect.js";
import { all, first, type Operation, type SqlValue, tuples } from "../../engine/operation.js";
import { ownOf, type SessionRows } from "../../engine/session-rows.js";
import { damaged, reportDamage } from "../messages/damage.js";
import type { MessagePosition } from "../messages/message-position.js";
import { ceilingOf, floorOf, sessionOf } from "../messages/row-id.js";
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

/** What a path shows of a compaction. */
interface SpanCompaction {
  readonly id: string;
  readonly summary: string;
  readonly from_n: number;
  readonly to_n: number;
  readonly tokens: number;
}

/** A span of a path as a reader sees it: a range of its rows, or the summary of one. */
export type PathSpan = { readonly range: Segment } | { readonly compaction: SpanCompaction };

/** The path that ends with `leaf` as a reader sees it: compactions in the place of the ranges they cover. */
export function* visibleSpans(
  rows: SessionRows,
  leaf: MessagePosition,
  onCorrupt?: CorruptHandler,
): Operation<PathSpan[]> {
  const { sessionNumber } = rows;
  const segments = yield* findSegments(rows, leaf, onCorrupt);
  const query = `SELECT c.id AS id, c.summary AS summary, c.from_n AS from_n, c.to_n AS to_n, c.tokens AS tokens,
       (SELECT m.branch FROM assistant_messages m WHERE ${ownOf(rows, "m")}m.n = c.to_n) AS branch
     FROM assistant_compactions c WHERE ${ownOf(rows, "c")}c.n BETWEEN ? AND ? ORDER BY c.n`;
  const values = [...rows.ids, ...rows.ids, floorOf(sessionNumber), ceilingOf(sessionNumber)];
  const compactions = yield* all<SpanCompaction & { branch: number | null }>(query, ...values);
  if (compactions.length === 0) return segments.map((range) => ({ range }));
  const byBranch = new Map(segments.map((segment) => [segment.branch, segment]));
  // Whoever has a compaction's end on its path has its whole range there.
  const onPath = compactions.filter(({ id, branch, from_n, to_n }) => {
    // An upgrade may have brought along one whose range is gone.
    if (from_n === null && to_n === null) return false;
    const segment = branch === null ? undefined : byBranch.get(branch);
    const endsHere = segment !== undefined && segment.lo <= to_n && to_n <= segment.hi;
    if (branch !== null && !endsHere) return false;
    if (endsHere && from_n <= to_n && segments.some(({ lo, hi }) => lo <= from_n && from_n <= hi)) return true;
    const why = `The range of summary "${id}" is not where its row says it is.`;
    reportDamage(onCorrupt, SUMMARY_ID_PREFIX + id, damaged({ sessionNumber, compactionId: id }, why));
    return false;
  });
  return cover(
    segments,
    selectCompactions(onPath.map((compaction) => ({ ...compaction, from: compaction.from_n, to: compaction.to_n }))),
  );
}

// Replaces what compactions cover; both lists are in the order of the path.
function cover(segments: readonly Segment[], compactions: readonly SpanCompaction[]): PathSpan[] {
  const spans: PathSpan[] = [];
  let next = 0;
  for (const { branch, lo, hi } of segments) {
    let start = lo;
    while (start <= hi) {
      const compaction = compactions[next];
      if (compaction === undefined || compaction.from_n > hi) {
        spans.push({ range: { branch, lo: start, hi } });
        break;
      }
      if (compaction.from_n >= start) {
        if (compaction.from_n > start) spans.push({ range: { branch, lo: start, hi: compaction.from_n - 1 } });
        spans.push({ compaction });
      }
      if (compaction.to_n > hi) break;
      start = compaction.to_n + 1;
      next += 1;
    }
  }
  return spans;
}

/** Spans in portions that are read at once: ranges of together at most `rows` row ids, or one compaction. */
export function* portionsOf(spans: readonly PathSpan[], rows: number): Generator<Segment[] | SpanCompaction> {
  let portion: Segment[] = [];
  let left = rows;
  for (const span of spans) {
    if ("compaction" in span) {
      if (portion.length > 0) yield portion;
      portion = [];
      left = rows;
      yield span.compaction;
      continue;
    }
    const { branch, hi } = span.range;
    for (let { lo } = span.range; lo <= hi; ) {
      const end = Math.min(hi, lo + left - 1);
      portion.push({ branch, lo, hi: end });
      left -= end - lo + 1;
      lo = end + 1;
      if (left > 0) continue;
      yield portion;
      portion = [];
      left = rows;
    }
  }
  if (portion.length > 0) yield portion;
}

/** Of spans those that lie between two rows of their path: ranges cut to that, summaries whole. */
export function spansBetween(spans: readonly PathSpan[], from: number, to: number): PathSpan[] {
  return spans.flatMap((span): PathSpan[] => {
    if ("compaction" in span) return span.compaction.to_n >= from && span.compaction.from_n <= to ? [span] : [];
    const range = { ...span.range, lo: Math.max(span.range.lo, from), hi: Math.min(span.range.hi, to) };
    return range.lo <= range.hi ? [{ range }] : [];
  });
}

/** The ranges among spans. */
export function rangesOf(spans: readonly PathSpan[]): Segment[] {
  return spans.flatMap((span) => ("range" in span ? [span.range] : []));
}
