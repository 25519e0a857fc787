import { messagesOf, NEAR, nearMessages } from "../../model/rank.js";
import { first, type Operation } from "../engine/operation.js";
import type { SequenceMatches } from "../engine/search-dialect.js";
import {
  ascending,
  baseOf,
  isApart,
  MATCH_BEHIND,
  matchesIn,
  matchQuery,
  newestIn,
  type SearchedRows,
} from "./rows-in-range.js";

/** A sequence that so many messages hold is in too many of them to look at each. */
export const MANY = 2_000;

/** The matches of a sequence, as far as they are counted and scored. */
export interface Counted extends SequenceMatches {
  /** What the index is asked for. */
  readonly match: string;
  /** See `isCommon`. */
  readonly isCommon: boolean;
  documents: number;
  /** The oldest of those that were counted, by how much it is above `baseOf`. */
  oldest: number;
  /** JSON of those that were counted, the newest first and by how much they are above `baseOf`, where they are fewer than `MANY`. */
  newest: string | null;
  complete: boolean;
  numbers: readonly number[];
  scores: readonly number[];
  others: readonly number[];
}

/** The matches of what the index is asked for, before either. */
export function countable(match: string, isCommon: boolean): Counted {
  const counted = { documents: Number.POSITIVE_INFINITY, oldest: 0, newest: null, complete: false };
  return { match, isCommon, ...counted, numbers: [], scores: [], others: [] };
}

/** To count is a twentieth of the work of scoring, but not even that is done for every match. */
export function* countMatches(matches: Counted, range: SearchedRows, limit: number): Operation<void> {
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
export function rarestFirst(a: Counted, b: Counted): number {
  return a.documents - b.documents || a.oldest - b.oldest;
}

/** Finds the others of each sequence whose matches are not all scored: see `SearchDialect.matches`. */
export function* findOthers(range: SearchedRows, found: readonly Counted[]): Operation<void> {
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
