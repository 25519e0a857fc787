import { LEAST_RARITY, type ScopeSize, scoreBy } from "../../model/bm25.js";
import { first, type Operation } from "../engine/operation.js";
import { INDEX_TABLES } from "../engine/search-dialect.js";
import { lengthOf, lengthsFrom } from "./index-size.js";
import { ascending, baseOf, matchesIn, matchQuery, type SearchedRows } from "./rows-in-range.js";
import { isCommon, type WordRarities } from "./word-rarities.js";

/** An index of messages, and what is known of its words. */
export interface KnownIndex {
  readonly size: ScopeSize;
  readonly rarities: WordRarities;
}

/** In ascending order. */
export interface ScoredMatches {
  readonly numbers: readonly number[];
  readonly scores: readonly number[];
}

/**
 * Scores the newest matches of what the index is asked for, by BM25. Common words are scored as if each message held them once:
 * of all that FTS5 has, only bm25() tells how often one does, which first counts all that do.
 */
export function* scoreNewest(
  match: string,
  range: SearchedRows,
  limit: number,
  { size: { documents, length }, rarities }: KnownIndex,
): Operation<ScoredMatches> {
  const known = rarities.find(match, documents);
  const query = known === undefined ? SCORES_AND_LENGTHS : isCommon(known, documents) ? LENGTHS : SCORES;
  const row = yield* first<Scored>(...matchesIn(query, match, range, limit));
  const numbers = ascending(row?.numbers, baseOf(range));
  const scores = ascending(row?.scores, 0, SCALE);
  if (query === SCORES || numbers.length === 0) return { numbers, scores };
  const lengths = lengthsFrom(row?.lengths, length);
  const rarity = known ?? rarityBy(scores, lengths, length);
  if (known === undefined) rarities.learn(match, documents, rarity);
  if (!isCommon(rarity, documents)) return { numbers, scores };
  const scoreOf = scoreBy(rarity, length);
  return { numbers, scores: lengths.map((each) => scoreOf(1, each)) };
}

// What of a score does not come of the message, by one that holds the words once: no other has less.
function rarityBy(scores: readonly number[], lengths: readonly number[], meanLength: number): number {
  const scoreOf = scoreBy(1, meanLength);
  let rarity = Number.POSITIVE_INFINITY;
  for (const [index, score] of scores.entries())
    rarity = Math.min(rarity, score / scoreOf(1, lengths[index] as number));
  // The score of a very long message may be less than what is handed over.
  return Math.max(rarity, LEAST_RARITY);
}

interface Scored {
  readonly numbers: string;
  readonly scores?: string;
  readonly lengths?: string;
}

/** Scores are handed over as whole numbers of billionths. */
const SCALE = 1e9;

const SCORE = `CAST(-${SCALE} * bm25(${INDEX_TABLES.messages}) AS INTEGER) AS score`;
const LENGTH_OF_ROW = `${lengthOf("messages")} AS length`;
const ALL_NUMBERS = "json_group_array(n) AS numbers";
const ALL_SCORES = "json_group_array(score) AS scores";
const ALL_LENGTHS = "json_group_array(length) AS lengths";

const SCORES = matchQuery("DESC", `${ALL_NUMBERS}, ${ALL_SCORES}`, SCORE);
const LENGTHS = matchQuery("DESC", `${ALL_NUMBERS}, ${ALL_LENGTHS}`, LENGTH_OF_ROW);
const SCORES_AND_LENGTHS = matchQuery("DESC", `${ALL_NUMBERS}, ${ALL_SCORES}, ${ALL_LENGTHS}`, SCORE, LENGTH_OF_ROW);
