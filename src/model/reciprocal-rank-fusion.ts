import type { Ranked, RankReasons } from "./rank.js";

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

/** The reasons of messages in a ranking that was made of one by words, which has reasons, and of one by meaning. */
export function withReasons(
  fused: readonly Ranked[],
  words: readonly Ranked[],
  meaning: readonly Ranked[],
): (Ranked & { readonly reasons: RankReasons })[] {
  const byWords = new Map(words.map(({ n, reasons }) => [n, reasons]));
  const places = new Map(meaning.map(({ n }, index) => [n, index + 1]));
  return fused.map(({ n, score }) => {
    const own = byWords.get(n);
    const ranks = { words: own?.ranks.words ?? null, meaning: places.get(n) ?? null };
    return { n, score, reasons: { shares: own?.shares ?? [], ranks } };
  });
}
