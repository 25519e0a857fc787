import { groupBy } from "./group.js";
import { MEASURES, type Measure, type Measured } from "./measure.js";

/** How much one ranking finds more than another: the mean, and between what it lies in 95 % of the draws. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export type Intervals = Record<Measure, Interval | null>;

/** A question of a conversation, measured with two rankings. */
export interface Pair {
  readonly conversation: string;
  readonly before: Measured;
  readonly after: Measured;
}

const DRAWS = 2000;
const SEED = 1;

/**
 * The paired bootstrap of `after - before`, for each measure: conversations are drawn with replacement, each with all of its questions,
 * since questions of one conversation are alike. Of a single conversation, questions are drawn. The draws are the same each time. Null
 * for a measure that no question has.
 */
export function bootstrap(pairs: readonly Pair[]): Intervals {
  const isOne = new Set(pairs.map(({ conversation }) => conversation)).size < 2;
  const drawn = groupBy(pairs, ({ conversation }) => conversation);
  const units = isOne ? pairs.map((pair) => [pair]) : [...drawn.values()];
  const draws = drawsOf(units.length);
  const intervalOf = (measure: Measure) =>
    intervalOver(
      units.map((unit) => sumOf(unit, measure)),
      draws,
    );
  return Object.fromEntries(MEASURES.map((measure) => [measure, intervalOf(measure)])) as Intervals;
}

interface Sum {
  sum: number;
  count: number;
}

function sumOf(pairs: readonly Pair[], measure: Measure): Sum {
  const total = { sum: 0, count: 0 };
  for (const { before, after } of pairs) {
    const [from, to] = [before[measure], after[measure]];
    if (from === null || to === null) continue;
    total.sum += to - from;
    total.count += 1;
  }
  return total;
}

function intervalOver(units: readonly Sum[], draws: readonly Uint32Array[]): Interval | null {
  const mean = meanOf(units, units.keys());
  if (mean === null) return null;
  const means = draws.flatMap((draw) => meanOf(units, draw) ?? []).sort((a, b) => a - b);
  const at = (share: number) => means[Math.round(share * (means.length - 1))] as number;
  return { mean, low: at(0.025), high: at(0.975) };
}

function meanOf(units: readonly Sum[], drawn: Iterable<number>): number | null {
  let [sum, count] = [0, 0];
  for (const index of drawn) {
    const unit = units[index] as Sum;
    sum += unit.sum;
    count += unit.count;
  }
  return count === 0 ? null : sum / count;
}

function drawsOf(size: number): Uint32Array[] {
  const random = mulberry32(SEED);
  return Array.from({ length: DRAWS }, () => Uint32Array.from({ length: size }, () => Math.floor(random() * size)));
}

/** Numbers from 0 to 1 that are the same each time. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
