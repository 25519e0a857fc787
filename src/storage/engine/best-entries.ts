import type { Ranked } from "../../model/rank.js";

/** The entries with the highest scores, best first; of equals the older one. */
export function bestEntries(scores: ReadonlyMap<number, number>, limit: number): Ranked[] {
  const ranked = [...scores].map(([rowId, score]) => ({ n: rowId, score }));
  return ranked.sort((a, b) => b.score - a.score || a.n - b.n).slice(0, limit);
}
