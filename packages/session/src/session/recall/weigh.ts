/** How much the exchange before counts, where the text itself counts 1. Measured on LoCoMo: 1 finds less. */
const WEIGHT_BEFORE = 0.5;

/** Something that was found, by a score that compares within its ranking only. */
interface Scored {
  readonly score: number;
}

/**
 * One ranking of two, best first: of what was found for a text alone, and of what was found for it with the exchange before it, which counts
 * less. Scores become shares of the best of their ranking. `nameOf` tells what is the same in both.
 */
export function weigh<Found extends Scored>(
  rankings: readonly (readonly Found[])[],
  nameOf: (found: Found) => string,
): Found[] {
  const weighed = new Map<string, Found>();
  for (const [place, ranking] of rankings.entries()) {
    const weight = place === 0 ? 1 : WEIGHT_BEFORE;
    const best = ranking.reduce((most, { score }) => Math.max(most, score), 0) || 1;
    for (const each of ranking) {
      const name = nameOf(each);
      const score = (weighed.get(name)?.score ?? 0) + weight * (Math.max(0, each.score) / best);
      weighed.set(name, { ...each, score });
    }
  }
  return [...weighed.values()].sort((a, b) => b.score - a.score);
}
