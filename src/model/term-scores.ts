/** What the messages of a search have to do with each other. */
export interface Neighbourhood {
  /** The session of a message. Numbers grow along a session. */
  sessionOf(n: number): number;
  /** The branch of a message of a session that has several; undefined where it has one. Null where each session has one. */
  readonly branchOf: ((n: number) => number | undefined) | null;
}

/** How much of a match a message lends to those next to it, one, two, three and four places away. */
export const LENT = [0.6, 0.4, 0.25, 0.15] as const;
/** How much of its session's best matches a message is given, and how many of them count. */
const SESSION_SHARE = 0.1;
const SESSION_MATCHES = 5;

/** The matches of a term by their places among all messages. */
export interface FlatMatches {
  readonly indexes: Uint32Array;
  readonly scores: Float64Array;
}

/** Adds the scores of a term, so many times over. */
export function addMatches(sums: Float64Array, { indexes, scores }: FlatMatches, factor: number): void {
  for (let match = 0; match < indexes.length; match += 1) {
    const index = at(indexes, match);
    sums[index] = at(sums, index) + factor * at(scores, match);
  }
}

/** Gives `best` the best that each message has of one term: its own match, or the largest share of one nearby. */
export function takeNearby(
  best: Float64Array,
  term: FlatMatches,
  messages: Float64Array,
  { branchOf }: Neighbourhood,
): void {
  // From the matches outward: there are fewer of them than messages that might have one nearby.
  for (let match = 0; match < term.indexes.length; match += 1) {
    const index = at(term.indexes, match);
    const score = at(term.scores, match);
    const n = at(messages, index);
    if (score > at(best, index)) best[index] = score;
    for (let step = -1; step <= 1; step += 2) {
      for (let near = index + step; near >= 0 && near < messages.length; near += step) {
        const other = at(messages, near);
        const distance = step * (other - n);
        if (distance > LENT.length) break;
        const share = score * (LENT[distance - 1] as number);
        if (share > at(best, near) && (branchOf === null || branchOf(other) === branchOf(n))) best[near] = share;
      }
    }
  }
}

/** What each message is given of its session's best matches. */
export function sessionShares(messages: Float64Array, own: Float64Array, { sessionOf }: Neighbourhood): Float64Array {
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
export const at = (list: Float64Array | Uint32Array, index: number) => list[index] as number;
