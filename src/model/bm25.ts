/** How large the scope of a search is: how many documents it has, and how many terms these have on average. */
export interface ScopeSize {
  readonly documents: number;
  readonly length: number;
}

/**
 * BM25 with the constants of FTS5, of a sequence of terms that `holding` documents of the scope hold: the score of a
 * document of `length` terms in which the sequence stands so many times.
 */
export function scoreIn(scope: ScopeSize, holding: number): (times: number, length: number) => number {
  const rarity = Math.max(Math.log((scope.documents - holding + 0.5) / (holding + 0.5)), 0.000001);
  return (times, length) => (rarity * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * length) / scope.length));
}
