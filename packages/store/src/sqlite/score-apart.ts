import { rarityOf, scoreBy } from "@stemma/model";
import { INDEX_TABLES } from "../engine/dialect.js";
import { first, type Operation, oneNumber, type SqlValue } from "../engine/operation.js";
import { lengthOf, lengthsFrom } from "./index-entries.js";
import type { Counted, KnownIndex, ScoredMatches, WordRarities } from "./match-queries.js";
import { ascending, baseOf, matchesIn, matchQuery, type SearchedRows } from "./match-queries.js";
import { INTEGER } from "./schema.js";

const INDEX = INDEX_TABLES.messages;

/**
 * Scores the newest matches in several ranges, by BM25 as if each message held the words once: for each range bm25() would first
 * count all messages that hold them. Of matches that are listed only the lengths are looked up.
 */
export function* scoreApart(
  { match, newest }: Pick<Counted, "match" | "newest">,
  range: SearchedRows,
  limit: number,
  { size: { documents, length }, rarities }: KnownIndex,
): Operation<ScoredMatches> {
  const base = baseOf(range);
  const query = newest === null ? matchesIn(LENGTHS, match, range, limit) : lengthsOfListed(newest, limit, base);
  const row = yield* first<{ numbers: string; lengths: string }>(...query);
  const numbers = ascending(row?.numbers, base);
  if (numbers.length === 0) return { numbers, scores: [] };
  const scoreOf = scoreBy(yield* findRarity(match, documents, rarities), length);
  return { numbers, scores: lengthsFrom(row?.lengths, length).map((each) => scoreOf(1, each)) };
}

const LISTS = "json_group_array(n) AS numbers, json_group_array(length) AS lengths";
const LENGTHS = matchQuery("DESC", LISTS, `${lengthOf("messages")} AS length`);

function lengthsOfListed(newest: string, limit: number, base: number): [string, ...SqlValue[]] {
  // They have the name of the index, which `lengthOf` asks.
  const listed = `(SELECT value AS n, value + ${INTEGER} AS rowid FROM json_each(?) LIMIT ${INTEGER}) AS ${INDEX}`;
  return [`SELECT ${LISTS} FROM (SELECT n, ${lengthOf("messages")} AS length FROM ${listed})`, base, newest, limit];
}

function* findRarity(match: string, documents: number, rarities: WordRarities): Operation<number> {
  const known = rarities.find(match, documents);
  if (known !== undefined && Number.isFinite(known)) return known;
  const rarity = rarityOf(documents, yield* oneNumber(HOLDING, match));
  rarities.learn(match, documents, rarity);
  return rarity;
}

const HOLDING = `SELECT count(*) AS documents FROM ${INDEX} WHERE ${INDEX} MATCH ?`;
