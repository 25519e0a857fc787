import { querySequences, type SearchQuery } from "./query.js";
import { keyOf, type Ranked, type RankReasons } from "./rank.js";
import { documentTerms, queryTerms } from "./terms.js";

/** A ranking by the similarity of vectors, best first, and how alike all vectors are that were compared. */
export interface ByMeaning {
  readonly ranked: readonly Ranked[];
  readonly mean: number;
  readonly deviation: number;
}

/**
 * A vector that stands so many standard deviations above the usual similarity counts as much as the best message by words.
 * Measured, see docs/background/embeddings.md.
 */
const FAR = 8;

/**
 * One ranking of one by words and one by meaning. By words a message scores its share of the best score, by meaning how far its
 * similarity stands out. So a model counts as much as it tells messages apart: of a weak one little stands out, and words
 * decide. Best first; of equals the more similar, then the later one.
 */
export function fuseRankings(
  words: readonly Ranked[],
  meaning: ByMeaning,
  weights: { readonly words: number; readonly vectors: number },
): Ranked[] {
  const fused = new Map<number | string, Ranked>();
  const best = words[0]?.score || 1;
  if (weights.words > 0) {
    for (const { n, sessionId, score } of words) {
      fused.set(keyOf({ n, sessionId }), { n, sessionId, score: (weights.words * score) / best });
    }
  }
  const similarities = new Map<number | string, number>();
  if (weights.vectors > 0) {
    for (const { n, sessionId, score } of meaning.ranked) {
      const key = keyOf({ n, sessionId });
      const standout = Math.max(0, score - meaning.mean) / (meaning.deviation || 1);
      const added = (weights.vectors * standout) / FAR;
      fused.set(key, { n, sessionId, score: (fused.get(key)?.score ?? 0) + added, meaning: added });
      similarities.set(key, score);
    }
  }
  const similarityOf = (each: Ranked): number => similarities.get(keyOf(each)) ?? Number.NEGATIVE_INFINITY;
  return [...fused.values()].sort(
    (a, b) =>
      b.score - a.score || (similarityOf(a) === similarityOf(b) ? laterFirst(a, b) : similarityOf(b) - similarityOf(a)),
  );
}

// Sessions that share a number come in the order of their ids.
const laterFirst = (a: Ranked, b: Ranked): number =>
  b.n - a.n || Number((b.sessionId ?? "") > (a.sessionId ?? "")) - Number((b.sessionId ?? "") < (a.sessionId ?? ""));

/** The reasons of messages in a ranking that was made of one by words, which has reasons, and of one by meaning. */
export function withReasons(
  fused: readonly Ranked[],
  words: readonly Ranked[],
  meaning: readonly Ranked[],
): (Ranked & { readonly reasons: RankReasons })[] {
  const byWords = new Map(words.map((word) => [keyOf(word), word.reasons]));
  const ranksByMeaning = new Map(meaning.map((each, index) => [keyOf(each), index + 1]));
  return fused.map((each) => {
    const own = byWords.get(keyOf(each));
    const ranks = { words: own?.ranks.words ?? null, meaning: ranksByMeaning.get(keyOf(each)) ?? null };
    const { meaning: added = 0 } = each;
    return { ...each, reasons: { shares: own?.shares ?? [], coverage: own?.coverage ?? 0, meaning: added, ranks } };
  });
}

/** How numbers are spread, without keeping them. */
export class Distribution {
  #count = 0;
  #sum = 0;
  #squares = 0;

  add(value: number): void {
    this.#count += 1;
    this.#sum += value;
    this.#squares += value * value;
  }

  /** 0 of no number. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** The standard deviation; 0 of no number. */
  get deviation(): number {
    return this.#count === 0 ? 0 : Math.sqrt(Math.max(0, this.#squares / this.#count - this.mean ** 2));
  }
}

/** Why a result of a search ranks where it does. */
export interface SearchExplanation {
  /**
   * The words of the query, or phrases of it, that count for the message: how often it holds each, and what that adds to the
   * score by words; highest first. A word that only messages next to it hold counts 0 times, and adds less. The rest of that
   * score is what the best matches of its session lend.
   */
  readonly words: readonly { readonly word: string; readonly count: number; readonly score: number }[];
  /** How many words it has. From 100 on, the more it has the less it counts by words, unless it holds all of the query. */
  readonly length: number;
  /**
   * How much of the query it holds itself, from 0 to 1: rare words weigh more, and words that no message holds nothing.
   * 0 where it was found by meaning alone.
   */
  readonly coverage: number;
  /** How much of its score comes of its similarity to the query; 0 without an embedder. */
  readonly meaning: number;
  /** Its places in the ranking by words and in that by meaning, from 1; null where it is not in that. */
  readonly ranks: RankReasons["ranks"];
  /** The part of a reranker in its place. Missing where the search asked none. */
  readonly reranker?: RerankerReasons;
}

interface RerankerReasons {
  /** Its place before the reranker was asked, from 1: by words, or by words and meaning. */
  readonly from: number;
  /** The reranker's own score, on its own scale; null for what it was not asked about, and where it failed. */
  readonly score: number | null;
  /** Why the reranker was not heard, so that the place is the one before; null where it was. */
  readonly failure: string | null;
}

/** The explanation of a result whose indexed text is `document`. */
export function explainResult(
  query: SearchQuery,
  document: string,
  { shares, coverage, meaning, ranks }: RankReasons,
): SearchExplanation {
  const terms = documentTerms(document);
  const sequences = queryTerms(query);
  const words = querySequences(query).map((sequence, index) => ({
    word: sequence.join(" "),
    count: occurrences(terms, sequences[index] ?? []),
    score: shares[index] ?? 0,
  }));
  const counted = words.filter(({ count, score }) => count > 0 || score > 0).sort((a, b) => b.score - a.score);
  return { words: counted, length: terms.length, coverage, meaning, ranks };
}

function occurrences(terms: readonly string[], sequence: readonly string[]): number {
  let count = 0;
  for (let start = 0; start + sequence.length <= terms.length; start += 1) {
    if (sequence.every((term, index) => terms[start + index] === term)) count += 1;
  }
  return count;
}

/** Several rankings as one: the first of each, then the second of each, and so on. */
export function byTurns<T>(rankings: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...rankings.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => rankings.flatMap((each) => each.slice(place, place + 1))).flat();
}
