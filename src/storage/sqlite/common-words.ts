import { type ScopeSize, scoreIn } from "../../model/bm25.js";
import { column, first, type Operation, oneNumber } from "../engine/operation.js";
import { INDEX_TABLES, type RowRange } from "../engine/search-dialect.js";
import { ascending, baseOf, matchesIn, matchQuery } from "./rows-in-range.js";

const INDEX = INDEX_TABLES.messages;

/** bm25() counts all messages of the store that hold a word before it scores one. That takes 0.4 ms of so many. */
const COMMON = 25_000;

/** A count holds while the number of all messages changes by less than this share of it. */
const TOLERANCE = 0.1;
const MAX_COUNTS = 10_000;

/** In how many of all messages words are, about. */
export interface Commonness {
  readonly size: ScopeSize;
  readonly holding: number;
}

/** Tells how common words are, each by what the index is asked for; null of those that bm25() has counted soon. */
export type FindCommonness = (matches: readonly string[]) => Operation<(Commonness | null)[]>;

/** Counts words once, since searches ask for the same common ones again and again. */
export function wordCounts(): FindCommonness {
  const counts = new Map<string, { readonly holding: number; readonly documents: number }>();
  function* countOf(match: string, documents: number): Operation<number> {
    let count = counts.get(match);
    if (count === undefined || Math.abs(documents - count.documents) > TOLERANCE * count.documents) {
      count = { holding: yield* oneNumber(COUNT_ALL, match), documents };
      if (counts.size >= MAX_COUNTS) counts.clear();
      counts.set(match, count);
    }
    return (count.holding * documents) / count.documents;
  }
  return function* (matches) {
    const size = yield* sizeOfIndex();
    const found: (Commonness | null)[] = [];
    for (const match of matches) {
      const holding = size.documents < COMMON ? 0 : yield* countOf(match, size.documents);
      found.push(holding < COMMON ? null : { size, holding });
    }
    return found;
  };
}

const COUNT_ALL = `SELECT count(*) FROM ${INDEX} WHERE ${INDEX} MATCH ?`;

// What FTS5 keeps of all documents: how many there are, and how many terms they have together.
function* sizeOfIndex(): Operation<ScopeSize> {
  const [sums = ""] = yield* column<string>(`SELECT hex(block) FROM ${INDEX}_data WHERE id = 1`);
  const [documents = 0, terms = 0] = numbersOf(sums);
  return { documents, length: terms / Math.max(1, documents) };
}

/**
 * Scores the newest matches of common words by BM25 as if each message held them once: of all that FTS5 has, only bm25() tells
 * how often one does.
 */
export function* scoreByLength(
  match: string,
  range: RowRange,
  limit: number,
  { size, holding }: Commonness,
): Operation<{ readonly numbers: number[]; readonly scores: number[] }> {
  const row = yield* first<{ numbers: string; sizes: string }>(...matchesIn(SIZES, match, range, limit));
  const sizes: string[] = JSON.parse(row?.sizes ?? "[]").reverse();
  const score = scoreIn(size, holding);
  return {
    numbers: ascending(row?.numbers, baseOf(range)),
    scores: sizes.map((lengths) => score(1, numbersOf(lengths)[0] ?? size.length)),
  };
}

const SIZES = matchQuery(
  "DESC",
  "json_group_array(n) AS numbers, json_group_array(size) AS sizes",
  `(SELECT hex(sz) FROM ${INDEX}_docsize WHERE id = ${INDEX}.rowid) AS size`,
);

// Numbers as FTS5 writes them: seven bits in each byte, of which all but the last of a number have the highest one set.
function numbersOf(hex: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (let at = 0; at < hex.length; at += 2) {
    const byte = Number.parseInt(hex.slice(at, at + 2), 16);
    number = number * 128 + (byte & 127);
    if (byte > 127) continue;
    numbers.push(number);
    number = 0;
  }
  return numbers;
}
