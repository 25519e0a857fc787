import type { Ranked } from "./rank.js";

/** How much a place counts: 60 is the usual constant of reciprocal rank fusion. */
const SMOOTHING = 60;

/** A ranking, best first, and how much it counts. */
export interface WeightedRanking {
  readonly ranked: readonly Ranked[];
  readonly weight: number;
}

/**
 * One ranking of several whose scores cannot be compared, by reciprocal rank fusion: a message scores
 * `weight / (60 + its place)` in each ranking that holds it, and a ranking of weight 0 does not count. Best first; of equals the later one.
 */
export function fuseRankings(rankings: readonly WeightedRanking[]): Ranked[] {
  const scores = new Map<number, number>();
  for (const { ranked, weight } of rankings) {
    if (weight === 0) continue;
    ranked.forEach(({ n }, index) => {
      scores.set(n, (scores.get(n) ?? 0) + weight / (SMOOTHING + index + 1));
    });
  }
  return Array.from(scores, ([n, score]) => ({ n, score })).sort((a, b) => b.score - a.score || b.n - a.n);
}
