import type { Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { Segment } from "./path/path.js";

/** A statement on so many rows is the first one, and on no more the longest. */
const FIRST = 500;
const MOST = 4_000;

/** How long a portion takes, in milliseconds: the next one is smaller above this, and larger below half of it. */
const GOOD = 8;

/** Ranges of rows, in their order. */
export type Portion = readonly [Segment, ...Segment[]];

const isSome = (ranges: readonly Segment[]): ranges is Portion => ranges.length > 0;

/**
 * Does a work on ranges of rows in portions, none of which takes an engine of this process long, whatever the rows hold. Where
 * a server works, all of it is one portion.
 */
export function* inPortions(
  sql: Dialect,
  ranges: readonly Segment[],
  work: (portion: Portion) => Operation<void>,
): Operation<void> {
  if (sql.layout === "local") yield* divided(ranges, work);
  else if (isSome(ranges)) yield* work(ranges);
}

/** Does work on portions of ranges, for an engine that always is one of this process. */
export function* divided(ranges: readonly Segment[], work: (portion: Portion) => Operation<void>): Operation<void> {
  const rest = ranges.slice().reverse();
  for (let rows = FIRST; rest.length > 0; ) {
    const portion = takeRows(rest, rows);
    if (!isSome(portion)) return;
    const begun = performance.now();
    yield* work(portion);
    const took = performance.now() - begun;
    if (took > GOOD) rows = Math.max(1, Math.floor(rows / 2));
    else if (took < GOOD / 2) rows = Math.min(MOST, rows * 2);
  }
}

/** How many items of a list one statement is about. */
const ITEMS = 500;

/** Does work on some items of a list at a time. */
export function* inListPortions<T>(
  { layout }: Dialect,
  items: readonly T[],
  work: (some: readonly T[]) => Operation<void>,
): Operation<void> {
  const length = layout === "local" ? ITEMS : items.length;
  for (let start = 0; start < items.length; start += length) yield* work(items.slice(start, start + length));
}

// Takes the ranges of so many rows from the end of a list.
function takeRows(rest: Segment[], rows: number): Segment[] {
  const taken: Segment[] = [];
  for (let left = rows; left > 0; ) {
    const range = rest.pop();
    if (range === undefined) break;
    const hi = Math.min(range.hi, range.lo + left - 1);
    taken.push({ ...range, hi });
    if (hi < range.hi) rest.push({ ...range, lo: hi + 1 });
    left -= hi - range.lo + 1;
  }
  return taken;
}
