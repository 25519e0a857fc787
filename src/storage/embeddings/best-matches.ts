/** Collects the best of what it is shown, above `least`. */
export function createBest<R extends { readonly n: number; readonly score: number }>(limit: number, least: number) {
  let best: R[] = [];
  let worst = Number.NEGATIVE_INFINITY;
  const sort = () => {
    best.sort((a, b) => b.score - a.score || b.n - a.n);
    best = best.slice(0, limit);
  };
  const takes = (score: number): boolean => score > least && score >= worst;
  return {
    /** False where nothing with such a score is kept. */
    takes,
    add(found: R): void {
      if (!takes(found.score)) return;
      best.push(found);
      if (best.length < 2 * limit + 1000) return;
      sort();
      worst = best.at(-1)?.score ?? worst;
    },
    /** Best first; of equals the later message. */
    take(): R[] {
      sort();
      return best;
    },
  };
}
