import type { Ranked, RankReasons } from "./rank.js";

/** A ranking by the similarity of vectors, best first, and how alike all vectors are that were compared. */
export interface ByMeaning {
  readonly ranked: readonly Ranked[];
  readonly mean: number;
  readonly deviation: number;
}

/**
 * A vector that stands so many standard deviations above the usual similarity counts as much as the best message by words.
 * Measured, see docs/embeddings.md.
 */
const FAR = 6.3;

/**
 * One ranking of one by words and one by meaning. By words a message scores its share of the best score. By meaning it scores
 * the square of how far its similarity stands out, so that a model counts as much as it tells messages apart: of a weak
 * one nothing stands out, and words decide. Best first; of equals the more similar, then the later one.
 */
export function fuseRankings(
  words: readonly Ranked[],
  meaning: ByMeaning,
  weights: { readonly words: number; readonly vectors: number },
): Ranked[] {
  const scores = new Map<number, number>();
  const best = words[0]?.score || 1;
  if (weights.words > 0) for (const { n, score } of words) scores.set(n, (weights.words * score) / best);
  const similarities = new Map<number, number>();
  if (weights.vectors > 0) {
    for (const { n, score } of meaning.ranked) {
      const standsOut = Math.max(0, score - meaning.mean) / (FAR * meaning.deviation || 1);
      scores.set(n, (scores.get(n) ?? 0) + weights.vectors * standsOut ** 2);
      similarities.set(n, score);
    }
  }
  const similarityOf = ({ n }: Ranked): number => similarities.get(n) ?? Number.NEGATIVE_INFINITY;
  return Array.from(scores, ([n, score]) => ({ n, score })).sort(
    (a, b) =>
      b.score - a.score || (similarityOf(a) === similarityOf(b) ? b.n - a.n : similarityOf(b) - similarityOf(a)),
  );
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
