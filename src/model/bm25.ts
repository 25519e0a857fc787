/** How large the scope of a search is: how many documents it has, and how many terms these have on average. */
export interface ScopeSize {
  readonly documents: number;
  readonly length: number;
}

// The constants of FTS5.
const K1 = 1.2;
const B = 0.75;

/** That of a sequence that most documents hold. */
export const LEAST_RARITY = 0.000001;

/** How much a match of a sequence of terms tells that `holding` of about so many documents hold. */
export function rarityOf(documents: number, holding: number): number {
  const others = Math.max(0, documents - holding);
  return Math.max(Math.log((others + 0.5) / (holding + 0.5)), LEAST_RARITY);
}

/** BM25 of a sequence of such a rarity: the score of a document of `length` terms in which it stands so many times. */
export function scoreBy(rarity: number, meanLength: number): (times: number, length: number) => number {
  return (times, length) => (rarity * times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / meanLength));
}

/** The same of a sequence that `holding` documents of the scope hold. */
export function scoreIn({ documents, length }: ScopeSize, holding: number): (times: number, length: number) => number {
  return scoreBy(rarityOf(documents, holding), length);
}
