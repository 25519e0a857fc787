import { selectCompactions } from "../../model/compactions.js";
import { SUMMARY_ID_PREFIX } from "../../model/message.js";
import type { CorruptHandler } from "../engine/dialect.js";
import { all, type Operation } from "../engine/operation.js";
import { ownOf, type SessionRows } from "../engine/session-rows.js";
import { damaged, reportDamage } from "./damage.js";
import type { MessagePosition } from "./message-position.js";
import { findSegments, type Segment } from "./path.js";
import { ceilingOf, floorOf } from "./row-id.js";

/** What a path shows of a compaction. */
export interface SpanCompaction {
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
