// Which messages FTS5 finds, and how well each matches.
import {
  COUNTED,
  FEWEST,
  messagesOf,
  NEAR,
  nearMessages,
  needOthers,
  RAREST,
  rarityOf,
  type ScopeSize,
  scoreBy,
} from "@stemma/model";
import {
  INDEX_TABLES,
  type RowRange,
  type SearchDialect,
  type SearchIndex,
  type SequenceMatches,
} from "../engine/dialect.js";
import { column, first, type Operation, oneNumber, type SqlValue } from "../engine/operation.js";
import { INTEGER } from "./schema.js";

/** Makes `SearchDialect.matches`, which remembers how rare words are. */
export function createMatches(): SearchDialect["matches"] {
  const rarities = new WordRarities();
  return function* (sequences, within, limit) {
    const size = yield* sizeOfIndex("messages");
    const { documents } = size;
    const range = yield* searchedRows(within, documents);
    const found = sequences.map((sequence) => {
      const match = quote(sequence);
      return countable(match, isCommon(rarities.find(match, documents), documents));
    });
    // A single sequence is scored as far as it goes, however many matches it has.
    if (found.length > 1) for (const matches of found) yield* countMatches(matches, range, Math.max(MANY, limit + 1));
    let left = limit;
    for (const [rank, matches] of [...found].sort(rarestFirst).entries()) {
      const take = Math.min(matches.documents, Math.max(left, rank < RAREST ? FEWEST : 0));
      if (take > 0) yield* findNewest(matches, range, take);
      const count = matches.numbers.length;
      matches.complete = found.length > 1 ? count === matches.documents : count < take;
      left -= take;
    }
    if (needOthers(found)) yield* findOthers(range, found);
    const messages = messagesOf([...found, ...found.map(({ others }) => ({ numbers: others, scores: [] }))]);
    const [only] = found;
    const isScored = found.length === 1 && only !== undefined && scoreAlone(only, rarities.find(only.match, documents));
    const lengths = isScored ? new Map() : yield* lengthsOf("messages", messages, size.length);
    if (!isScored) for (const matches of found) yield* scoreMatches(matches, lengths, { size, rarities });
    return { sequences: found, lengths, branches: null, sessions: null };
  };
}

/** The query of FTS5 for a sequence of terms. All of it is quoted, so that nothing is an operator. */
export const quote = (sequence: readonly string[]): string => `"${sequence.join(" ")}"`;

/** A query of matches among all rows, in a range of them, in one of few rows, and in several ranges. */
type MatchQuery = Readonly<Record<"all" | "range" | "short" | "ranges", string>>;

/** The rows of a search, and whether they are a short range. */
type SearchedRows = (NonNullable<RowRange> & { readonly isShort?: boolean | undefined }) | null;

/** A range of so few rows is short: to give its matches from the newest on takes FTS5 longer than to give all of them. */
const SHORT = 1_000;

/** In a smaller index that makes no difference. */
const LARGE = 25_000;

function* searchedRows(range: RowRange, documents: number): Operation<SearchedRows> {
  if (range === null || range.several !== undefined || documents < LARGE) return range;
  const { lo, hi } = range;
  const newest = `SELECT max(id) FROM ${INDEX}_docsize WHERE id BETWEEN ? AND ?`;
  const [last] = yield* column<number | null>(newest, lo, hi);
  return { ...range, isShort: (last ?? lo) - lo <= SHORT };
}

const INDEX = INDEX_TABLES.messages;

const MATCHES = `${INDEX} WHERE ${INDEX} MATCH ?`;
const IN_RANGE = ` AND rowid BETWEEN ${INTEGER} AND ${INTEGER}`;
const IN_RANGES = `(SELECT json_extract(value, '$[0]') AS lo, json_extract(value, '$[1]') AS hi FROM json_each(?) LIMIT -1) AS s
  CROSS JOIN ${MATCHES} AND ${INDEX}.rowid BETWEEN s.lo AND s.hi`;

/**
 * Some matches from one end, as one row: that is handed over sooner, as JSON, than hundreds of rows. Whole numbers are written and
 * read faster, and small ones fastest, so `n` counts from `baseOf` on. `values` are further columns of a match.
 */
function matchQuery(order: "ASC" | "DESC", columns: string, ...values: string[]): MatchQuery {
  const rowsOf = (n: string, matches: string) =>
    `SELECT ${columns} FROM (SELECT ${[n, ...values].join(", ")} FROM ${matches})`;
  const limited = `${order} LIMIT ${INTEGER}`;
  const ordered = `ORDER BY rowid ${limited}`;
  return {
    all: rowsOf("rowid AS n", `${MATCHES} ${ordered}`),
    range: rowsOf(FROM_BASE, `${MATCHES}${IN_RANGE} ${ordered}`),
    short: rowsOf(FROM_BASE, `${MATCHES}${IN_RANGE} ORDER BY +rowid ${limited}`),
    // Put in order before anything else is read of them. They keep the name of the index, which `values` ask. By `+` FTS5 does not go
    // backwards through each range, which takes several times as long.
    ranges: rowsOf(
      FROM_BASE,
      `(SELECT ${INDEX}.rowid AS rowid FROM ${IN_RANGES} ORDER BY +${INDEX}.rowid ${limited}) AS ${INDEX}`,
    ),
  };
}

const FROM_BASE = `rowid - ${INTEGER} AS n`;

const BEHIND = `LIMIT 1 OFFSET ${INTEGER}`;

/** The match behind so many newer ones. To pass over them takes two thirds of the time of counting them. */
const MATCH_BEHIND: Pick<MatchQuery, "all" | "range"> = {
  all: `SELECT rowid AS n FROM ${MATCHES} ORDER BY rowid DESC ${BEHIND}`,
  range: `SELECT ${FROM_BASE} FROM ${MATCHES}${IN_RANGE} ORDER BY rowid DESC ${BEHIND}`,
};

/** The text of a query, and what it binds, of so many matches. */
function matchesIn(query: MatchQuery, match: string, range: SearchedRows, count: number): [string, ...SqlValue[]] {
  if (range?.several !== undefined && isApart(range))
    return [query.ranges, range.lo, JSON.stringify(range.several.ranges), match, count];
  return newestIn({ all: query.all, range: range?.isShort ? query.short : query.range }, match, range, count);
}

/** Reads the newest rows of a range, by FTS5 from the newest on. */
function newestIn(
  query: Pick<MatchQuery, "all" | "range">,
  match: string,
  range: RowRange,
  count: number,
): [string, ...SqlValue[]] {
  return range === null ? [query.all, match, count] : [query.range, range.lo, match, range.lo, range.hi, count];
}

/** True of rows that are in several ranges. */
const isApart = (range: RowRange) => (range?.several?.ranges.length ?? 1) > 1;

const baseOf = (range: RowRange) => range?.lo ?? 0;

/** Numbers that came as JSON, newest first and above a base. */
export function ascending(newestFirst: string | null = null, base = 0, scale = 1): number[] {
  const found: number[] = JSON.parse(newestFirst ?? "[]").reverse();
  for (let index = 0; index < found.length; index += 1) found[index] = base + (found[index] as number) / scale;
  return found;
}

/** A sequence that so many messages hold is in too many of them to look at each. */
const MANY = 2_000;

/** The matches of a sequence, as far as they are counted and scored. */
interface Counted extends SequenceMatches {
  readonly match: string;
  readonly isCommon: boolean;
  documents: number;
  /** The oldest of those that were counted, by how much it is above `baseOf`. */
  oldest: number;
  /** JSON of those that were counted, the newest first and by how much they are above `baseOf`, where they are fewer than `MANY`. */
  newest: string | null;
  complete: boolean;
  numbers: readonly number[];
  /** The number that bm25() gave each of them; null where it was not asked. */
  bm25: readonly number[] | null;
  scores: readonly number[];
  others: readonly number[];
}

/** The matches of what the index is asked for, before either. */
function countable(match: string, isCommon: boolean): Counted {
  const counted = { documents: Number.POSITIVE_INFINITY, oldest: 0, newest: null, complete: false };
  return { match, isCommon, ...counted, numbers: [], bm25: null, scores: [], others: [] };
}

/** To count is a twentieth of the work of scoring, but not even that is done for every match. */
function* countMatches(matches: Counted, range: SearchedRows, limit: number): Operation<void> {
  const { match, isCommon } = matches;
  if (isCommon && !isApart(range) && range?.isShort !== true) {
    // Of those that are not counted to the end, the last one tells how far back they go.
    const last = yield* first<{ n: number }>(...newestIn(MATCH_BEHIND, match, range, limit - 1));
    if (last !== undefined) return void Object.assign(matches, { documents: limit, oldest: last.n });
  }
  const row = yield* first<{ count: number; oldest: number | null; newest: string | null }>(
    ...matchesIn(COUNT, match, range, limit),
  );
  matches.documents = row?.count ?? 0;
  matches.oldest = row?.oldest ?? 0;
  matches.newest = row?.newest ?? null;
}

const COUNT = matchQuery(
  "DESC",
  `count(*) AS count, min(n) AS oldest, CASE WHEN count(*) < ${MANY} THEN json_group_array(n) END AS newest`,
);

/** Of those that were not counted to the end, the rarer goes further back. */
function rarestFirst(a: Counted, b: Counted): number {
  return a.documents - b.documents || a.oldest - b.oldest;
}

/** Finds the others of each sequence whose matches are not all scored: see `SearchDialect.matches`. */
function* findOthers(range: SearchedRows, found: readonly Counted[]): Operation<void> {
  const messages = messagesOf(found);
  const scored = found.filter(({ numbers }) => numbers.length > 0);
  const rare = scored.filter(({ documents }) => documents < MANY);
  for (const matches of scored) {
    if (matches.complete) continue;
    const others =
      matches.documents < MANY
        ? ascending(matches.newest, baseOf(range))
        : yield* holdingBoth(
            matches,
            rare.length > 0 ? rare : scored.filter((other) => other !== matches),
            nearRange(range, messages),
          );
    matches.others = nearMessages(others, messages);
  }
}

/** The rows of a range that are, or stand near, one of the messages, or between two of them; of several ranges those that have one. */
function nearRange(range: SearchedRows, messages: Float64Array): SearchedRows {
  const within = range ?? { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId: null };
  const { lo, hi, several } = within;
  const [first = lo, last = hi] = [messages[0], messages.at(-1)];
  const near = { ...within, lo: Math.max(lo, first - NEAR), hi: Math.min(hi, last + NEAR) };
  if (several === undefined) return near;
  let next = 0;
  const ranges = several.ranges.filter(([lo, hi]) => {
    while ((messages[next] as number) < lo) next += 1;
    return (messages[next] as number) <= hi;
  });
  return { ...near, several: { ...several, ranges } };
}

// The newest messages that hold a sequence and one of others. What two lists have in common FTS5 finds sooner from the oldest
// on, so it is asked for the newest only where there may be many.
function* holdingBoth(
  { match }: Counted,
  others: readonly Counted[],
  range: SearchedRows,
): Operation<readonly number[]> {
  const both = `(${others.map((other) => other.match).join(" OR ")}) AND ${match}`;
  const most = others.reduce((sum, { documents }) => sum + documents, 0);
  const query = most < MANY ? OLDEST : NEWEST;
  const row = yield* first<{ numbers: string }>(...matchesIn(query, both, range, MANY));
  const numbers = ascending(row?.numbers, baseOf(range));
  return query === OLDEST ? numbers.reverse() : numbers;
}

const OLDEST = matchQuery("ASC", "json_group_array(n) AS numbers");
const NEWEST = matchQuery("DESC", "json_group_array(n) AS numbers");

/** bm25() counts all messages of the store that hold a word before it scores one. That takes 0.4 ms of so many. */
const COMMON = 25_000;

/** A measured rarity holds while the number of all messages changes by less than this share of it. */
const TOLERANCE = 0.1;
const MAX_WORDS = 10_000;
/** A word is shorter. A quoted phrase that is longer is not remembered. */
const MAX_LENGTH = 200;

/**
 * Remembers how rare words are, each by its query of the index: searches ask for the same common ones again and again.
 * `documents` is how many messages are indexed.
 */
class WordRarities {
  readonly #known = new Map<string, { readonly rarity: number; readonly documents: number }>();

  /** Undefined where it is not known; `Infinity` where not even a word of every message is common. */
  find(match: string, documents: number): number | undefined {
    if (documents < COMMON) return Number.POSITIVE_INFINITY;
    const known = this.#known.get(match);
    const isOld = known === undefined || Math.abs(documents - known.documents) > TOLERANCE * known.documents;
    return isOld ? undefined : known.rarity;
  }

  learn(match: string, documents: number, rarity: number): void {
    if (documents < COMMON || match.length > MAX_LENGTH) return;
    if (this.#known.size >= MAX_WORDS) this.#known.clear();
    this.#known.set(match, { rarity, documents });
  }
}

/** True of words of which is known that so many messages hold them that these are not counted for each search. */
const isCommon = (rarity: number | undefined, documents: number) =>
  documents >= COMMON && rarity !== undefined && rarity <= rarityOf(documents, COMMON);

/** An index of messages, and what is known of its words. */
interface KnownIndex {
  readonly size: ScopeSize;
  readonly rarities: WordRarities;
}

/**
 * Finds the newest matches, with the scores of bm25(), which first counts all messages that hold the words. That is not done for
 * common words, nor where it would be done for each of several ranges: matches that are listed are not even looked up then.
 */
function* findNewest(matches: Counted, range: SearchedRows, limit: number): Operation<void> {
  const { match, newest, isCommon } = matches;
  const base = baseOf(range);
  const isScored = !isCommon && !isApart(range);
  if (!isScored && newest !== null) {
    matches.numbers = ascending(newest, base).slice(-limit);
    return;
  }
  const row = yield* first<{ numbers: string; scores?: string }>(
    ...matchesIn(isScored ? SCORES : NEWEST, match, range, limit),
  );
  matches.numbers = ascending(row?.numbers, base);
  matches.bm25 = isScored ? ascending(row?.scores, 0, SCALE) : null;
}

/** Scores are handed over as whole numbers of billionths. */
export const SCALE = 1e9;

/** SQL for the score of a match of an index. */
export const scoreOf = (index: SearchIndex) => `CAST(-${SCALE} * bm25(${INDEX_TABLES[index]}) AS INTEGER)`;

const SCORES = matchQuery(
  "DESC",
  "json_group_array(n) AS numbers, json_group_array(score) AS scores",
  `${scoreOf("messages")} AS score`,
);

/**
 * Scores matches by BM25. Common words, and others that bm25() was not asked for, are scored as if each message held them once: of
 * all that FTS5 has, only bm25() tells how often one does.
 */
function* scoreMatches(matches: Counted, lengths: ReadonlyMap<number, number>, index: KnownIndex): Operation<void> {
  const { match, numbers, bm25 } = matches;
  if (numbers.length === 0) return;
  const { size, rarities } = index;
  const own = numbers.map((n) => lengths.get(n) ?? size.length);
  if (bm25 !== null) {
    const { rarity, scores } = yield* rescaled(bm25, own, size, findRarity(match, index));
    rarities.learn(match, size.documents, rarity);
    matches.scores = scores;
    if (!isCommon(rarity, size.documents)) return;
  }
  const score = scoreBy(yield* findRarity(match, index), size.length);
  matches.scores = own.map((each) => score(1, each));
}

/**
 * Scores the matches of a search for one sequence. All of them hold all of it, so their lengths tell nothing that bm25() does not; false
 * where that was not asked, or where only lengths would tell how rare the words are.
 */
function scoreAlone(matches: Counted, rarity = Number.POSITIVE_INFINITY): boolean {
  const { bm25 } = matches;
  const own = fts5Rarity(rarity);
  if (bm25 === null || !(own > 0 && Number.isFinite(own))) return false;
  matches.scores = bm25.map((score) => (score * rarity) / own);
  return true;
}

/** The rarity by which bm25() scores what is so rare by `rarityOf`; none above 0 for what half of the documents hold, or more. */
export const fts5Rarity = (rarity: number): number => Math.log(Math.expm1(rarity));

function* findRarity(match: string, { size: { documents }, rarities }: KnownIndex): Operation<number> {
  const known = rarities.find(match, documents);
  if (known !== undefined && Number.isFinite(known)) return known;
  const rarity = rarityOf(documents, yield* oneNumber(`SELECT count(*) FROM ${MATCHES}`, match));
  rarities.learn(match, documents, rarity);
  return rarity;
}

/** The rarity that FTS5 gives to what more than half of all documents hold. */
export const LEAST_RARITY = 0.000001;
/** A match counts at most so many times what one does that holds the words once. */
const MOST_TIMES = 2.2;

/**
 * The scores of bm25() as they are by `rarityOf`, and that rarity. FTS5's is measured by a match that holds the words once, of which
 * the score has nothing else of its own but a length: no other has less. Where it tells nothing, that is `counted`, or known without.
 * Where it tells more than any word could, FTS5 goes by a mean length that it writes when a transaction ends. What bm25() does not tell
 * is scored as if each match held the words once.
 */
function* rescaled(
  bm25: readonly number[],
  lengths: readonly number[],
  { documents, length }: ScopeSize,
  counted: Operation<number>,
): Operation<{ readonly rarity: number; readonly scores: readonly number[] }> {
  if (bm25.length === 0) return { rarity: Number.POSITIVE_INFINITY, scores: [] };
  const scoreOf = scoreBy(1, length);
  let own = Number.POSITIVE_INFINITY;
  for (const [index, score] of bm25.entries()) own = Math.min(own, score / scoreOf(1, lengths[index] as number));
  const isLeast = own < 10 * LEAST_RARITY;
  const isKnown = isLeast && documents > COUNTED;
  if (isKnown || own > MOST_TIMES * Math.log(documents + 1) + 1) {
    const rarity = isKnown ? rarityOf(documents, documents) : yield* counted;
    return { rarity, scores: lengths.map((each) => rarity * scoreOf(1, each)) };
  }
  if (isLeast) own = LEAST_RARITY;
  const rarity = isLeast ? yield* counted : Math.log1p(Math.exp(own));
  return { rarity, scores: bm25.map((score) => (score * rarity) / own) };
}

/** So many documents tell how large an index is in its first transaction. */
const FIRST = 1_000;

/**
 * How large an index is. FTS5 keeps how many documents it has, and how many terms these have together, and writes that when a
 * transaction ends: before the first one has, the lengths of the documents tell it.
 */
export function* sizeOfIndex(index: SearchIndex): Operation<ScopeSize> {
  const table = INDEX_TABLES[index];
  const [sums = ""] = yield* column<string>(`SELECT hex(block) FROM ${table}_data WHERE id = 1`);
  const [documents = 0, terms = 0] = numbersOf(sums);
  if (documents > 0 && terms > 0) return { documents, length: terms / documents };
  const query = `SELECT coalesce(group_concat(hex(sz), ''), '') FROM (SELECT sz FROM ${table}_docsize LIMIT ${FIRST})`;
  const lengths = numbersOf((yield* column<string>(query))[0] ?? "");
  const sum = lengths.reduce((total, length) => total + length, 0);
  return { documents: lengths.length, length: sum / lengths.length || 1 };
}

/** How many terms documents have, by their rows: as many as most where that is missing, or one of them is damaged. */
export function* lengthsOf(
  index: SearchIndex,
  rows: Float64Array,
  usual: number,
): Operation<ReadonlyMap<number, number>> {
  // Small numbers are written and read several times as fast.
  const base = rows[0] ?? 0;
  const query = `SELECT group_concat(coalesce(nullif(hex(d.sz), ''), '00'), '')
    FROM json_each(?) AS r LEFT JOIN ${INDEX_TABLES[index]}_docsize d ON d.id = r.value + ${INTEGER}`;
  const above = `[${rows.map((n) => n - base).join()}]`;
  const found = rows.length === 0 ? [] : numbersOf((yield* column<string>(query, above, base))[0] ?? "");
  const lengths = new Map<number, number>();
  const isWhole = found.length === rows.length;
  for (let at = 0; at < rows.length; at += 1) lengths.set(rows[at] as number, (isWhole && found[at]) || usual);
  return lengths;
}

/** Numbers as FTS5 writes them: seven bits in each byte, of which all but the last of a number have the highest one set. */
export function numbersOf(hex: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (let at = 0; at < hex.length; at += 2) {
    const byte = 16 * digitAt(hex, at) + digitAt(hex, at + 1);
    number = number * 128 + (byte & 127);
    if (byte > 127) continue;
    numbers.push(number);
    number = 0;
  }
  return numbers;
}

// Far faster than to parse each byte: a search reads hundreds of lengths.
function digitAt(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code < 58 ? code - 48 : code - 55;
}
