import { StemmaError } from "../../../errors.js";
import { quotedFrom, type SearchQuery } from "../../../model/query.js";
import { messagesOf, type Ranked, rankMatches, withUsual } from "../../../model/rank.js";
import { queryTerms } from "../../../model/terms.js";
import type { SearchHit, SearchRequest } from "../../contract.js";
import type { Dialect, SearchDialect } from "../../engine/dialect.js";
import { column, type Operation } from "../../engine/operation.js";
import { ownOf, rowsOf } from "../../engine/session-rows.js";
import { sessionOf } from "../row-id.js";
import { readHits } from "./search-hits.js";
import { acceptRows, findRows, narrows, openScope, type Scope } from "./search-scope.js";

/** How many matches are ranked at first, and how many times as many when too few of them are what is asked for. */
const FIRST_DEPTH = 500;
const DEEPER = 5;

/** The engine's search. Errors: `SEARCH_UNAVAILABLE`. */
export function searchOf(sql: Dialect): SearchDialect {
  if (sql.search !== null) return sql.search;
  throw new StemmaError("SEARCH_UNAVAILABLE", { store: sql.name }, "This store was opened without search.");
}

/**
 * Ranks the messages of a range, looking at no more than `depth` matches, and gives at least the `best` so many, or all;
 * `complete` when there are no other matches.
 */
export type RankMessages = (
  range: Scope["range"],
  depth: number,
  best?: number,
) => Operation<{ readonly ranked: readonly Ranked[]; readonly complete: boolean }>;

/** See `SessionStore.search`. */
export function* searchMessages(
  sql: Dialect,
  query: SearchQuery,
  request: SearchRequest,
  rank: RankMessages = rankByWords(sql, query, request.explain),
): Operation<SearchHit[]> {
  searchOf(sql);
  const scope = yield* openScope(sql, request);
  if (scope === null) return [];
  const wanted = (request.offset ?? 0) + request.limit;
  const isNarrowed = narrows(scope, request);
  const found: Ranked[] = [];
  const seen = new Set<number>();
  for (let depth = FIRST_DEPTH; found.length < wanted; depth *= DEEPER) {
    // Those that were seen may come first once more.
    const { ranked, complete } = yield* rank(scope.range, depth, isNarrowed ? undefined : seen.size + wanted);
    // What only a deeper look shows stands behind all that a shallower one did, so that the order is always the same.
    const lowest = found.at(-1)?.score ?? Number.POSITIVE_INFINITY;
    const others = ranked.filter(({ n: rowId }) => !seen.has(rowId));
    const accepted = yield* acceptRows(sql, scope, request, others, wanted - found.length);
    for (const each of accepted) found.push({ ...each, score: Math.min(each.score, lowest) });
    if (complete) break;
    for (const { n: rowId } of others) seen.add(rowId);
  }
  return yield* readHits(sql, query, found.slice(request.offset ?? 0), request, scope.path);
}

/** Ranks by the words of a query; with `explain` each message has its reasons. */
export function rankByWords(sql: Dialect, query: SearchQuery, explain = false): RankMessages {
  const sequences = queryTerms(query);
  return function* (range, depth, best) {
    const found = yield* searchOf(sql).matches(sequences, range, depth);
    const complete = found.sequences.every((sequence) => sequence.complete);
    // Of a sequence with too many matches to score each, those near matches of others are taken to be as good as usual; the
    // rest could not be among the best.
    const matches = found.sequences.map((sequence) => withUsual(sequence, sequence.others));
    const messages = messagesOf(matches);
    const sessions = sessionsOf(messages);
    const forked = new Set(found.forked ?? (yield* forkedOf(sql, sessions, range?.sessionId)));
    const branches = yield* branchesOf(sql, messages, forked, range?.sessionId);
    const around = { sessionOf, branchOf: branches === null ? null : (rowId: number) => branches.get(rowId) };
    return { ranked: rankMatches(matches, around, { quotedFrom: quotedFrom(query), explain, best }), complete };
  };
}

// The sessions of messages in ascending order.
function sessionsOf(messages: Float64Array): number[] {
  const sessions: number[] = [];
  for (const rowId of messages) {
    const sessionNumber = sessionOf(rowId);
    if (sessionNumber !== sessions.at(-1)) sessions.push(sessionNumber);
  }
  return sessions;
}

// Those of the sessions that have several branches.
function* forkedOf(
  sql: Dialect,
  sessions: readonly number[],
  sessionId: string | null | undefined,
): Operation<readonly number[]> {
  if (sessions.length === 0) return [];
  const own = typeof sessionId === "string" ? rowsOf(sql, sessionId, 0) : null;
  const found = yield* column<number>(
    // A join of many sessions would be planned as one with all branches of the store.
    sql.isSpread && own === null
      ? `SELECT s.lo FROM ${sql.segmentTable} AS s JOIN assistant_branches b ON b.no = s.lo`
      : `SELECT s.lo FROM ${sql.segmentTable} AS s WHERE (SELECT max(b.branch) FROM assistant_branches b
       WHERE ${own === null ? "" : ownOf(own, "b")}b.no = s.lo) IS NOT NULL`,
    JSON.stringify(sessions.map((sessionNumber) => [0, sessionNumber, sessionNumber])),
    ...(own?.ids ?? []),
  );
  return found.map(Number);
}

// The branches of messages of those sessions; null where there is none. A branch that goes on is found by where it began.
function* branchesOf(
  sql: Dialect,
  messages: Float64Array,
  forked: ReadonlySet<number>,
  sessionId: string | null | undefined,
): Operation<ReadonlyMap<number, number> | null> {
  if (forked.size === 0) return null;
  const among = Array.from(messages).filter((rowId) => forked.has(sessionOf(rowId)));
  const rows = yield* findRows<{ n: number; branch: number }>(sql, among, "m.n AS n, m.branch AS branch", sessionId);
  return new Map([...rows.values()].map(({ n: rowId, branch }) => [rowId, branch]));
}
