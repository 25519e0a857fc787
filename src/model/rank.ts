/** A message by its number, and how well it matches; higher is better. */
export interface Ranked {
  readonly n: number;
  readonly score: number;
}

/** What the messages of a search have to do with each other. */
export interface Neighbourhood {
  /** The session of a message. Numbers grow along a session. */
  sessionOf(n: number): number;
  /** The branch of a message of a session that has several; undefined where it has one. */
  branchOf(n: number): number | undefined;
}

/** How much of a match a message lends to those next to it, one, two, three and four places away. */
const LENT = [0.6, 0.4, 0.25, 0.15] as const;

/**
 * Of the rarest terms so many matches are scored however many there are, to know what a match usually gives. The other
 * words of a long query are looked for where there is room for them.
 */
export const FEWEST = 30;
export const RAREST = 16;

/** How much of its session's best matches a message is given, and how many of them count. */
const SESSION_SHARE = 0.1;
const SESSION_MATCHES = 5;

/** How much more than its words a quoted phrase counts. */
const QUOTED = 2;

/**
 * Ranks messages by the terms they hold, each with its own BM25 score. In a conversation the answer stands beside the
 * words that were asked for: a message that holds some of them counts the others where its neighbours on the same branch
 * hold them, though for less, and never twice. A message of a session with several matches gains a little. The terms from
 * `quotedFrom` on are quoted phrases: they count more, and are not lent. Every message in the result holds a term itself.
 * Best first; of equals the later one.
 */
export function rankMatches(
  bm25: readonly ReadonlyMap<number, number>[],
  around: Neighbourhood,
  quotedFrom = bm25.length,
): Ranked[] {
  const terms = bm25.map(flatten);
  const own = new Map<number, number>();
  for (const term of terms) for (const [n, score] of term) own.set(n, (own.get(n) ?? 0) + score);
  const messages = Float64Array.from(own.keys()).sort();
  const places = new Map<number, number>();
  for (const [place, n] of messages.entries()) places.set(n, place);
  const scores = sessionShares(messages, own, around);
  const best = new Float64Array(messages.length);
  terms.forEach((term, index) => {
    if (index < quotedFrom) takeNearby(best, term, messages, places, around);
    else for (const [n, score] of term) best[places.get(n) as number] = QUOTED * score;
    best.forEach((score, place) => {
      scores[place] = at(scores, place) + score;
    });
    best.fill(0);
  });
  const ranked = Array.from(messages, (n, place) => ({ n, score: at(scores, place) }));
  return ranked.sort((a, b) => b.score - a.score || b.n - a.n);
}

/** The messages that hold a term or have one nearby that does, in order. */
export function withNeighbours(bm25: readonly ReadonlyMap<number, number>[]): number[] {
  const near = new Set<number>();
  for (const term of bm25) {
    for (const n of term.keys())
      for (let other = n - LENT.length; other <= n + LENT.length; other += 1) near.add(other);
  }
  return Array.from(Float64Array.from(near).sort());
}

/** What a match of a term gives on the average; 0 without one. */
export function usualScore(term: ReadonlyMap<number, number>): number {
  let sum = 0;
  for (const score of term.values()) sum += score;
  return sum / Math.max(1, term.size);
}

// Draws the scores of a term half-way to what it usually gives. That a line is short, or says a word twice, means less in a
// conversation than among documents.
function flatten(term: ReadonlyMap<number, number>): Map<number, number> {
  const usual = usualScore(term);
  const flat = new Map<number, number>();
  for (const [n, score] of term) flat.set(n, Math.sqrt(usual * score));
  return flat;
}

// The best that each message has of one term: its own match, or the largest share of one nearby. From the matches
// outward: there are fewer of them than messages that might have one nearby.
function takeNearby(
  best: Float64Array,
  term: ReadonlyMap<number, number>,
  messages: Float64Array,
  places: ReadonlyMap<number, number>,
  around: Neighbourhood,
): void {
  for (const [match, score] of term) {
    const place = places.get(match) as number;
    if (score > at(best, place)) best[place] = score;
    for (const step of [-1, 1]) {
      for (let near = place + step; near >= 0 && near < messages.length; near += step) {
        const n = at(messages, near);
        const share = score * (LENT[Math.abs(n - match) - 1] ?? 0);
        if (share === 0) break;
        if (share > at(best, near) && around.branchOf(n) === around.branchOf(match)) best[near] = share;
      }
    }
  }
}

// What each message is given of its session's best matches.
function sessionShares(messages: Float64Array, own: ReadonlyMap<number, number>, around: Neighbourhood): Float64Array {
  const shares = new Float64Array(messages.length);
  for (let start = 0, end = 0; start < messages.length; start = end) {
    const session = around.sessionOf(at(messages, start));
    const best: number[] = [];
    for (end = start; end < messages.length && around.sessionOf(at(messages, end)) === session; end += 1) {
      const score = own.get(at(messages, end)) as number;
      if (best.length < SESSION_MATCHES) best.push(score);
      else if (score > (best[0] as number)) best[0] = score;
      else continue;
      best.sort((a, b) => a - b);
    }
    shares.fill(SESSION_SHARE * best.reduce((sum, score) => sum + score, 0), start, end);
  }
  return shares;
}

// Never past the end: the places are those of the messages.
const at = (list: Float64Array, place: number) => list[place] as number;
