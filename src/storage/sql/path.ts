import { selectOverlays } from "../../model/overlay.js";
import type { Dialect } from "./dialect.js";
import { all, column, type Operation } from "./operation.js";
import { ceilingOf, floorOf } from "./position.js";
import type { Place } from "./session-row.js";

/**
 * A path is the messages from a root to a leaf. A branch is a run of messages of which each is the next one's parent; a
 * path crosses branches, and is one range of rows in each. Row ids grow along a path.
 */
export interface Segment {
  readonly branch: number;
  readonly lo: number;
  readonly hi: number;
}

export interface OverlayRow {
  readonly id: string;
  readonly summary: string;
  readonly from_n: number;
  readonly to_n: number;
  readonly tokens: number;
}

/** What a reader of a path sees at a place: a range of its rows, or the summary of one. */
export type Piece = { readonly range: Segment } | { readonly overlay: OverlayRow };

const CHAIN = `
  WITH RECURSIVE chain (branch, lo, parent_branch, parent_n) AS (
    SELECT branch, lo, parent_branch, parent_n FROM assistant_branches WHERE no = ? AND branch = ?
    UNION ALL
    SELECT b.branch, b.lo, b.parent_branch, b.parent_n
    FROM chain c JOIN assistant_branches b ON b.no = ? AND b.branch = c.parent_branch
  )
  SELECT branch, lo, parent_branch, parent_n FROM chain`;

interface BranchRow {
  readonly branch: number;
  readonly lo: number;
  readonly parent_branch: number | null;
  readonly parent_n: number | null;
}

/** The path that ends with `leaf`, oldest range first. */
export function* findSegments(no: number, leaf: { n: number; branch: number }): Operation<Segment[]> {
  const segments: Segment[] = [];
  let branch: number | null = leaf.branch;
  let hi = leaf.n;
  if (branch !== 0) {
    for (const row of yield* all<BranchRow>(CHAIN, no, branch, no)) {
      segments.push({ branch: row.branch, lo: row.lo, hi });
      branch = row.parent_branch;
      hi = row.parent_n ?? 0;
    }
  }
  // The first branch of a session needs no row.
  if (branch === 0) segments.push({ branch, lo: floorOf(no), hi });
  return segments.reverse();
}

/** The path that ends with `leaf` as a reader sees it: overlays in the place of the ranges they cover. */
export function* visiblePieces(no: number, leaf: Place): Operation<Piece[]> {
  const segments = yield* findSegments(no, leaf);
  const overlays = yield* all<OverlayRow & { branch: number }>(
    `SELECT c.id AS id, c.summary AS summary, c.from_n AS from_n, c.to_n AS to_n, c.tokens AS tokens, m.branch AS branch
     FROM assistant_compactions c JOIN assistant_messages m ON m.n = c.to_n
     WHERE c.n BETWEEN ? AND ? ORDER BY c.n`,
    floorOf(no),
    ceilingOf(no),
  );
  if (overlays.length === 0) return segments.map((range) => ({ range }));
  const byBranch = new Map(segments.map((segment) => [segment.branch, segment]));
  // Whoever has an overlay's end on its path has its whole range there.
  const onPath = overlays.filter(({ branch, to_n }) => {
    const segment = byBranch.get(branch);
    return segment !== undefined && segment.lo <= to_n && to_n <= segment.hi;
  });
  return cover(
    segments,
    selectOverlays(onPath.map((overlay) => ({ ...overlay, from: overlay.from_n, to: overlay.to_n }))),
  );
}

// Replaces what overlays cover; both lists are in the order of the path.
function cover(segments: readonly Segment[], overlays: readonly OverlayRow[]): Piece[] {
  const pieces: Piece[] = [];
  let next = 0;
  for (const { branch, lo, hi } of segments) {
    let start = lo;
    while (start <= hi) {
      const overlay = overlays[next];
      if (overlay === undefined || overlay.from_n > hi) {
        pieces.push({ range: { branch, lo: start, hi } });
        break;
      }
      if (overlay.from_n >= start) {
        if (overlay.from_n > start) pieces.push({ range: { branch, lo: start, hi: overlay.from_n - 1 } });
        pieces.push({ overlay });
      }
      if (overlay.to_n > hi) break;
      start = overlay.to_n + 1;
      next += 1;
    }
  }
  return pieces;
}

const IN_RANGE = "FROM assistant_messages WHERE n BETWEEN ? AND ? AND branch = ? ORDER BY n";

/** The rows of ranges that are in the order of a path; `columns` holds `n`. */
export function* readRanges<R extends { n: number }>(
  sql: Dialect,
  columns: string,
  ranges: readonly Segment[],
): Operation<R[]> {
  const [range] = ranges;
  if (range === undefined) return [];
  if (ranges.length === 1) return yield* all<R>(`SELECT ${columns} ${IN_RANGE}`, range.lo, range.hi, range.branch);
  // CROSS JOIN keeps the planner from scanning the session; sorting by `n` in SQL would carry every content along.
  const rows = yield* all<R>(
    `SELECT ${columns} FROM ${sql.segmentTable} AS s CROSS JOIN assistant_messages m
     WHERE m.n BETWEEN s.lo AND s.hi AND m.branch = s.branch`,
    JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi])),
  );
  const ordered = rows.every((row, index) => index === 0 || (rows[index - 1] as R).n < row.n);
  return ordered ? rows : rows.sort((a, b) => a.n - b.n);
}

/** The contents of ranges that are in the order of a path. */
export function* readRangeContents(sql: Dialect, ranges: readonly Segment[]): Operation<string[]> {
  const [range] = ranges;
  if (range !== undefined && ranges.length === 1) {
    return yield* column<string>(`SELECT content ${IN_RANGE}`, range.lo, range.hi, range.branch);
  }
  return (yield* readRanges<{ n: number; content: string }>(sql, "n, content", ranges)).map((row) => row.content);
}

/** The ranges among pieces. */
export function rangesOf(pieces: readonly Piece[]): Segment[] {
  return pieces.flatMap((piece) => ("range" in piece ? [piece.range] : []));
}
