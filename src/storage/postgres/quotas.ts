import { FEWEST, RAREST } from "../../model/rank.js";

/** How many of the newest matches of each sequence are scored, by how many there are: see `SearchDialect.matches`. */
export function quotasOf(counts: readonly number[], limit: number): number[] {
  const rarestFirst = [...counts.keys()].sort((a, b) => (counts[a] as number) - (counts[b] as number) || a - b);
  const quotas = counts.map(() => 0);
  let taken = 0;
  let rank = 0;
  for (const index of rarestFirst) {
    if (counts[index] === 0) continue;
    rank += 1;
    quotas[index] = Math.max(limit - taken, rank <= RAREST ? FEWEST : 0);
    taken += counts[index] as number;
  }
  return quotas;
}
