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
  terms: readonly ReadonlyMap<number, number>[],
  around: Neighbourhood,
  quotedFrom = terms.length,
): Ranked[] {
  const own = new Map<number, number>();
  for (const term of terms) for (const [n, score] of term) own.set(n, (own.get(n) ?? 0) + score);
  const shares = sessionShares(own, around);
  const ranked: Ranked[] = [];
  for (const n of own.keys()) {
    let score = shares.get(around.sessionOf(n)) ?? 0;
    terms.forEach((term, index) => {
      score += index < quotedFrom ? bestNearby(term, n, around) : QUOTED * (term.get(n) ?? 0);
    });
    ranked.push({ n, score });
  }
  return ranked.sort((a, b) => b.score - a.score || b.n - a.n);
}

function bestNearby(term: ReadonlyMap<number, number>, n: number, around: Neighbourhood): number {
  let best = term.get(n) ?? 0;
  for (let distance = 1; distance <= LENT.length; distance += 1) {
    const share = LENT[distance - 1] as number;
    for (const neighbour of [n - distance, n + distance]) {
      const lent = (term.get(neighbour) ?? 0) * share;
      if (lent > best && around.branchOf(neighbour) === around.branchOf(n)) best = lent;
    }
  }
  return best;
}

function sessionShares(own: ReadonlyMap<number, number>, around: Neighbourhood): Map<number, number> {
  const scores = new Map<number, number[]>();
  for (const [n, score] of own) {
    const session = around.sessionOf(n);
    const list = scores.get(session);
    if (list === undefined) scores.set(session, [score]);
    else list.push(score);
  }
  const shares = new Map<number, number>();
  for (const [session, list] of scores) {
    const best = list.sort((a, b) => b - a).slice(0, SESSION_MATCHES);
    shares.set(session, SESSION_SHARE * best.reduce((sum, score) => sum + score, 0));
  }
  return shares;
}
