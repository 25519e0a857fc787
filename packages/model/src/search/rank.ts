/** The messages that a search found, and how they belong together. */
interface FoundMessages {
  /** All that hold a term: `messagesOf` these. */
  readonly messages: Float64Array;
  /** How many terms each of them has. */
  readonly lengths: ReadonlyMap<number, number>;
  /** The session of a message. Numbers grow along a session. */
  sessionOf(n: number): number;
  /** The branch of a message of a session that has several; undefined where it has one. Null where each session has one. */
  readonly branchOf: ((n: number) => number | undefined) | null;
}

/** How much of a match a message lends to those next to it, one, two, three and four places away. */
const LENT = [0.6, 0.4, 0.25, 0.15] as const;
/** How much of its session's best matches a message is given, and how many of them count. */
const SESSION_SHARE = 0.1;
const SESSION_MATCHES = 5;

/** So many terms a message may have before its length counts against it, and the power by which it does. */
const SHORT = 100;
const LENGTH_POWER = -0.25;
/** How much a match is drawn to what its term usually gives; the rest is its own. */
const DRAWN = 0.6;

/** The matches of a term by their places among all messages. */
interface FlatMatches {
  readonly indexes: Uint32Array;
  readonly scores: Float64Array;
  /** The average of their scores. */
  readonly usual: number;
}

/** Adds the scores of a term, so many times over. */
function addMatches(sums: Float64Array, { indexes, scores }: FlatMatches, factor: number): void {
  for (let match = 0; match < indexes.length; match += 1) {
    const index = at(indexes, match);
    sums[index] = at(sums, index) + factor * at(scores, match);
  }
}

/** Gives `best` the best that each message has of one term: its own match, or the largest share of one nearby, by its prior. */
function takeNearby(
  best: Float64Array,
  term: FlatMatches,
  priors: Float64Array,
  { messages, branchOf }: FoundMessages,
): void {
  // From the matches outward: there are fewer of them than messages that might have one nearby.
  for (let match = 0; match < term.indexes.length; match += 1) {
    const index = at(term.indexes, match);
    const score = at(term.scores, match);
    const n = at(messages, index);
    if (score > at(best, index)) best[index] = score;
    const lent = score * at(priors, index);
    for (let step = -1; step <= 1; step += 2) {
      for (let near = index + step; near >= 0 && near < messages.length; near += step) {
        const other = at(messages, near);
        const distance = step * (other - n);
        if (distance > LENT.length) break;
        const share = lent * (LENT[distance - 1] as number);
        if (share > at(best, near) && (branchOf === null || branchOf(other) === branchOf(n))) best[near] = share;
      }
    }
  }
}

/** How much a message of its length counts that holds by chance what was asked for: 1 for a short one, less for a longer. */
function priorsOf({ messages, lengths }: FoundMessages): Float64Array {
  const priors = new Float64Array(messages.length).fill(1);
  for (let index = 0; index < messages.length; index += 1) {
    const length = lengths.get(at(messages, index)) ?? 0;
    if (length > SHORT) priors[index] = (length / SHORT) ** LENGTH_POWER;
  }
  return priors;
}

/** How much of what was asked for each message holds itself, from 0 to 1: a term that tells more counts more. */
function coveragesOf(terms: readonly FlatMatches[], messages: Float64Array): Float64Array {
  const held = new Float64Array(messages.length);
  let all = 0;
  for (const { indexes, usual } of terms) {
    all += usual;
    for (const index of indexes) held[index] = at(held, index) + usual;
  }
  for (let index = 0; index < held.length; index += 1) held[index] = at(held, index) / (all || 1);
  return held;
}

/** The share that each message gets of its session's best matches. */
function sessionShares(own: Float64Array, { messages, sessionOf }: FoundMessages): Float64Array {
  const shares = new Float64Array(messages.length);
  const best = new Float64Array(SESSION_MATCHES);
  for (let start = 0, end = 0; start < messages.length; start = end) {
    const session = sessionOf(at(messages, start));
    best.fill(0);
    for (; end < messages.length && sessionOf(at(messages, end)) === session; end += 1) keepBest(best, at(own, end));
    shares.fill(SESSION_SHARE * best.reduce((sum, score) => sum + score, 0), start, end);
  }
  return shares;
}

// `best` is in ascending order.
function keepBest(best: Float64Array, score: number): void {
  if (score <= at(best, 0)) return;
  let index = 0;
  for (; index + 1 < best.length && at(best, index + 1) < score; index += 1) best[index] = at(best, index + 1);
  best[index] = score;
}

/** Never past the end: the indexes are those of the messages. */
const at = (list: Float64Array | Uint32Array, index: number) => list[index] as number;

export interface RowAddress {
  readonly n: number;
  /** Where the number alone does not tell of which session it is. */
  readonly sessionId?: string | undefined;
}

/** A key that no other row has. */
export const keyOf = ({ n, sessionId }: RowAddress): number | string =>
  sessionId === undefined ? n : `${n} ${sessionId}`;

/** The row that a key tells of. */
export function addressOfKey(key: number | string): RowAddress {
  if (typeof key === "number") return { n: key };
  const end = key.indexOf(" ");
  return { n: Number(key.slice(0, end)), sessionId: key.slice(end + 1) };
}

/** A message, and how well it matches; higher is better. */
export interface Ranked extends RowAddress {
  readonly score: number;
  /** How much of the score comes of its similarity, where that was asked for too. */
  readonly meaning?: number;
  /** Where it was asked for. */
  readonly reasons?: RankReasons;
}

/** Why a message ranks where it does. */
export interface RankReasons {
  /** The part of the score by words that each term adds, lent by neighbours or its own; in the order of the terms. */
  readonly shares: readonly number[];
  /** How much of what was asked for it holds itself, from 0 to 1; 0 where it was found by meaning alone. */
  readonly coverage: number;
  /** How much of its score comes of its similarity; 0 where that was not asked for. */
  readonly meaning: number;
  /** Its places in the ranking by words and in that by meaning, from 1; null where it is not in that. */
  readonly ranks: { readonly words: number | null; readonly meaning: number | null };
}

/** The messages that hold a term, by their numbers in ascending order, and how well each matches. */
export interface Matches {
  readonly numbers: readonly number[];
  readonly scores: readonly number[];
}

export const NEAR = LENT.length;

/**
 * Of the rarest terms so many matches are scored however many there are, to know what a match usually gives. The other
 * words of a long query are looked for where there is room for them.
 */
export const FEWEST = 30;
export const RAREST = 16;

/** How much more than its words a quoted phrase counts. */
const QUOTED = 2;

interface RankOptions {
  readonly quotedFrom?: number;
  readonly explain?: boolean | undefined;
  readonly best?: number | undefined;
}

/**
 * Ranks messages by the terms they hold, each with its own BM25 score. In a conversation the answer stands beside the
 * words that were asked for: a message that holds some of them counts the others where its neighbours on the same branch
 * hold them, though for less, and never twice; so a term alone is not lent. A message of a session with several matches gains
 * a little. A long message holds many words by chance: the longer it is, and the less it holds of what was asked for, the less
 * it counts, and the less it lends. The terms from `quotedFrom` on are quoted phrases: they count more, and are not lent. Every
 * message in the result holds a term itself. The `best` so many, best first; of equals the later one. With `explain` each has
 * its reasons.
 */
export function rankMatches(
  bm25: readonly Matches[],
  found: FoundMessages,
  { quotedFrom = bm25.length, explain = false, best = Number.POSITIVE_INFINITY }: RankOptions = {},
): Ranked[] {
  const { messages } = found;
  const terms = bm25.map((term) => flatten(term, messages));
  const own = new Float64Array(messages.length);
  for (const term of terms) addMatches(own, term, 1);
  const priors = priorsOf(found);
  const sums = sessionShares(own, found);
  const shares: Float64Array[] = [];
  const shared = new Float64Array(messages.length);
  for (const [index, term] of terms.entries()) {
    const share = explain ? new Float64Array(messages.length) : shared.fill(0);
    if (explain) shares.push(share);
    if (index >= quotedFrom) addMatches(share, term, QUOTED);
    else if (terms.length === 1) addMatches(share, term, 1);
    else takeNearby(share, term, priors, found);
    for (let index = 0; index < share.length; index += 1) sums[index] = at(sums, index) + at(share, index);
  }
  const coverages = coveragesOf(terms, messages);
  for (let index = 0; index < sums.length; index += 1) {
    const prior = at(priors, index);
    if (prior < 1) priors[index] = prior ** (1 - at(coverages, index) ** 2);
    sums[index] = at(sums, index) * at(priors, index);
  }
  const ranked: Ranked[] = [];
  for (const index of bestFirst(sums, best)) {
    const message = { n: at(messages, index), score: at(sums, index) };
    const ranks = { words: ranked.length + 1, meaning: null };
    const reasonsOf = (): RankReasons => ({
      shares: shares.map((each) => at(each, index) * at(priors, index)),
      coverage: at(coverages, index),
      meaning: 0,
      ranks,
    });
    ranked.push(explain ? { ...message, reasons: reasonsOf() } : message);
  }
  return ranked;
}

// The places of the highest sums. Only these are compared with each other: numbers are sorted sooner than places.
function bestFirst(sums: Float64Array, best: number): Uint32Array {
  const lowest = best < sums.length ? at(sums.slice().sort(), sums.length - best) : Number.NEGATIVE_INFINITY;
  const indexes = new Uint32Array(sums.length);
  let length = 0;
  for (let index = 0; index < sums.length; index += 1) if (at(sums, index) >= lowest) indexes[length++] = index;
  return indexes
    .subarray(0, length)
    .sort((a, b) => at(sums, b) - at(sums, a) || b - a)
    .subarray(0, best);
}

/** True when others may hold a term of which not every match is scored, beside matches of another one. */
export function needOthers(matches: readonly (Matches & { readonly complete: boolean })[]): boolean {
  return matches.some(({ complete }) => !complete) && matches.filter(({ numbers }) => numbers.length > 0).length > 1;
}

/** The messages that hold any of the terms, in ascending order. */
export function messagesOf(terms: readonly Matches[]): Float64Array {
  if (terms.length < 2) return new Float64Array(terms[0]?.numbers ?? []);
  const middle = terms.length >> 1;
  return union(messagesOf(terms.slice(0, middle)), messagesOf(terms.slice(middle)));
}

// To merge what is in order takes a fifth of the time of sorting all.
function union(some: Float64Array, others: Float64Array): Float64Array {
  const all = new Float64Array(some.length + others.length);
  let [length, next] = [0, 0];
  for (const n of some) {
    while (next < others.length && at(others, next) < n) all[length++] = at(others, next++);
    if (next < others.length && at(others, next) === n) next += 1;
    all[length++] = n;
  }
  while (next < others.length) all[length++] = at(others, next++);
  return all.subarray(0, length);
}

/** Of numbers in ascending order those that are a message's, or stand so near to one that it may lend them something. */
export function nearMessages(numbers: readonly number[], messages: Float64Array): number[] {
  let next = 0;
  return numbers.filter((n) => {
    while (next < messages.length && at(messages, next) < n - NEAR) next += 1;
    return next < messages.length && at(messages, next) <= n + NEAR;
  });
}

/** The numbers of all that are, or may be, so near to a message. */
export function neighboursOf(messages: Float64Array): number[] {
  const near = new Set<number>();
  for (const n of messages) for (let other = n - NEAR; other <= n + NEAR; other += 1) near.add(other);
  return [...near];
}

/** Matches with those of `numbers`, ascending, that are none of them: each is taken to be as good as they usually are. */
export function withUsual(matches: Matches, numbers: readonly number[]): Matches {
  if (numbers.length === 0) return matches;
  const usual = usualScore(matches);
  const both = { numbers: [] as number[], scores: [] as number[] };
  let next = 0;
  for (const [index, n] of matches.numbers.entries()) {
    for (; (numbers[next] as number) < n; next += 1) {
      both.numbers.push(numbers[next] as number);
      both.scores.push(usual);
    }
    if (numbers[next] === n) next += 1;
    both.numbers.push(n);
    both.scores.push(matches.scores[index] as number);
  }
  for (; next < numbers.length; next += 1) {
    both.numbers.push(numbers[next] as number);
    both.scores.push(usual);
  }
  return both;
}

function usualScore({ scores }: Matches): number {
  let sum = 0;
  for (const score of scores) sum += score;
  return sum / Math.max(1, scores.length);
}

// Draws the scores to what the term usually gives. That a line is short, or says a word twice, means less in a conversation
// than among documents.
function flatten(term: Matches, messages: Float64Array): FlatMatches {
  const { length } = term.numbers;
  const usual = usualScore(term);
  const drawn = usual ** DRAWN;
  const indexes = new Uint32Array(length);
  const scores = new Float64Array(length);
  let index = 0;
  for (let match = 0; match < length; match += 1) {
    while (at(messages, index) < (term.numbers[match] as number)) index += 1;
    indexes[match] = index;
    const score = term.scores[match] as number;
    scores[match] = score === usual ? usual : drawn * score ** (1 - DRAWN);
  }
  return { indexes, scores, usual };
}

/** How large the scope of a search is: how many documents it has, and how many terms these have on average. */
export interface ScopeSize {
  readonly documents: number;
  readonly length: number;
}

// The constants of FTS5.
const K1 = 1.2;
const B = 0.75;

/** In so few documents the rarity of a word that most of them hold goes by how many do. */
export const COUNTED = 500;
/** In more it is taken to be in this share of them: to count it reads a row for each, and a host may bill these. */
const MOSTLY = 0.75;

/**
 * How much a match of a sequence of terms tells that `holding` of about so many documents hold: never nothing. Of more documents than
 * `COUNTED` all that more than half of them hold is as rare.
 */
export function rarityOf(documents: number, holding: number): number {
  const held = documents > COUNTED && holding > documents / 2 ? MOSTLY * documents : holding;
  return Math.log1p((Math.max(0, documents - held) + 0.5) / (held + 0.5));
}

/** BM25 of a sequence of such a rarity: the score of a document of `length` terms in which it stands so many times. */
export function scoreBy(rarity: number, meanLength: number): (times: number, length: number) => number {
  return (times, length) => (rarity * times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / meanLength));
}

/** How many times a sequence of such a rarity stands in a document of `length` terms that BM25 gives this score: one at least. */
export function timesBy(rarity: number, meanLength: number): (score: number, length: number) => number {
  const scoreOf = scoreBy(rarity, meanLength);
  const most = rarity * (K1 + 1);
  return (score, length) => {
    const times = (score * (most / scoreOf(1, length) - 1)) / (most - score);
    return times > 1 ? Math.min(Math.round(times), length) : 1;
  };
}

/** Makes the score of a sequence that `holding` documents of the scope hold. */
export function scoreIn({ documents, length }: ScopeSize, holding: number): (times: number, length: number) => number {
  return scoreBy(rarityOf(documents, holding), length);
}
