import { querySequences, type SearchQuery } from "./query.js";
import type { RankReasons } from "./rank.js";
import { documentTerms, queryTerms } from "./terms.js";

/** Why a result of a search ranks where it does. */
export interface SearchExplanation {
  /**
   * The words of the query, or phrases of it, that count for the message: how often it holds each, and what that adds to the
   * score by words; highest first. A word that only messages next to it hold counts 0 times, and adds less. The rest of that
   * score is what the best matches of its session lend.
   */
  readonly words: readonly { readonly word: string; readonly count: number; readonly score: number }[];
  /** Its places in the ranking by words and in that by meaning, from 1; null where it is not in that. */
  readonly ranks: RankReasons["ranks"];
}

/** The explanation of a result whose indexed text is `document`. */
export function explainResult(query: SearchQuery, document: string, { shares, ranks }: RankReasons): SearchExplanation {
  const terms = documentTerms(document);
  const sequences = queryTerms(query);
  const words = querySequences(query).map((sequence, index) => ({
    word: sequence.join(" "),
    count: occurrences(terms, sequences[index] ?? []),
    score: shares[index] ?? 0,
  }));
  return { words: words.filter(({ count, score }) => count > 0 || score > 0).sort((a, b) => b.score - a.score), ranks };
}

function occurrences(terms: readonly string[], sequence: readonly string[]): number {
  let count = 0;
  for (let start = 0; start + sequence.length <= terms.length; start += 1) {
    if (sequence.every((term, index) => terms[start + index] === term)) count += 1;
  }
  return count;
}
