import { rarityOf } from "../../model/bm25.js";

/** bm25() counts all messages of the store that hold a word before it scores one. That takes 0.4 ms of so many. */
const COMMON = 25_000;

/** What is known of a word holds while the number of all messages changes by less than this share of it. */
const TOLERANCE = 0.1;
const MAX_WORDS = 10_000;
/** A word is shorter. A quoted phrase that is longer is not remembered. */
const MAX_LENGTH = 200;

/**
 * What a store has learned of how rare words are, each by what the index is asked for: searches ask for the same common ones
 * again and again. `documents` is how many messages are indexed.
 */
export class WordRarities {
  readonly #known = new Map<string, { readonly rarity: number; readonly documents: number }>();

  /** Undefined where it is not known; `Infinity` where not even a word of every message is common. */
  find(match: string, documents: number): number | undefined {
    if (documents < COMMON) return Number.POSITIVE_INFINITY;
    const known = this.#known.get(match);
    const isOld = known === undefined || Math.abs(documents - known.documents) > TOLERANCE * known.documents;
    return isOld ? undefined : known.rarity;
  }

  learn(match: string, documents: number, rarity: number): void {
    if (match.length > MAX_LENGTH) return;
    if (this.#known.size >= MAX_WORDS) this.#known.clear();
    this.#known.set(match, { rarity, documents });
  }
}

/** True of words of which is known that so many messages hold them that these are not counted for each search. */
export const isCommon = (rarity: number | undefined, documents: number) =>
  rarity !== undefined && rarity <= rarityOf(documents, COMMON);
