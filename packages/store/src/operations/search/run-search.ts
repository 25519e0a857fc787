// One search, from what it is about to the rows that it shows.
import {
  keyOf,
  messagesOf,
  queryTerms,
  quotedFrom,
  type Ranked,
  type RowAddress,
  rankMatches,
  type SearchQuery,
  type SessionMessage,
  StemmaError,
  type TermSequences,
  withUsual,
} from "@stemma/model";
import type { SearchHit, SearchRequest } from "../../contract/store.js";
import type {
  ChosenSessions,
  Dialect,
  FoundMatches,
  FoundRow,
  NumberedSession,
  RowRange,
  SearchDialect,
  SeveralSessions,
} from "../../engine/dialect.js";
import { column, type Operation, rowsOf, type SessionRows, tuples } from "../../engine/operation.js";
import { readContent } from "../messages/content.js";
import { findSegments, isOnPath, type Segment } from "../path/path.js";
import { sessionFilter } from "../registry/list-sessions.js";
import { assertUser } from "../registry/owners.js";
import { ceilingOf, findLeaf, findSessionRows, floorOf, SPAN, sessionOf } from "../registry/session-head.js";
import { findHits, findRows, type HitRow, readHits } from "./search-hits.js";

/** How many matches are ranked at first, and how many times as many when too few of them are what is asked for. */
const FIRST_DEPTH = 250;
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

/** The operation behind `SessionStore.search`. */
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
  const isNarrowed = scope.sessions !== null || looksAtRows(request);
  const found: Ranked[] = [];
  const seen = new Set<number | string>();
  for (let depth = FIRST_DEPTH; found.length < wanted; depth *= DEEPER) {
    // Those that were seen may come first once more.
    const { ranked, complete } = yield* rank(scope.range, depth, isNarrowed ? undefined : seen.size + wanted);
    // What only a deeper look shows stands behind all that a shallower one did, so that the order is always the same.
    const lowest = found.at(-1)?.score ?? Number.POSITIVE_INFINITY;
    const others = ranked.filter((each) => !seen.has(keyOf(each)));
    const accepted = yield* acceptRows(sql, scope, request, others, wanted - found.length);
    for (const each of accepted) found.push({ ...each, score: Math.min(each.score, lowest) });
    if (complete) break;
    for (const each of others) seen.add(keyOf(each));
  }
  const asked = found.slice(request.offset ?? 0);
  return yield* readHits(sql, query, asked, yield* findHits(sql, asked, request.sessionId), request, scope.path);
}

/**
 * A search outside of a transaction: one statement, or two, of which the second makes sure that what it shows is as the first one
 * found it. Null where it is not, where it would take more of them, and where they do not tell what is wrong.
 */
export function* searchAtOnce(sql: Dialect, query: SearchQuery, request: SearchRequest): Operation<SearchHit[] | null> {
  const { offset = 0, limit, sessionId, explain, exchange } = request;
  const wanted = offset + limit;
  if (sql.search?.atOnce === false || exchange || looksAtRows(request) || !Number.isSafeInteger(wanted)) return null;
  const found = yield* matchesAtOnce(sql, queryTerms(query), request, wanted);
  if (found === null) return null;
  const best = resultOf(rankFound(sql, query, found, { best: wanted, explain }));
  if (best === null || (!best.complete && best.ranked.length < wanted)) return null;
  const asked = best.ranked.slice(offset);
  const rows = found.rows ?? (yield* findHits(sql, asked, sessionId, found.since));
  return rows.length < asked.length ? null : resultOf(readHits(sql, query, asked, rows, request, null));
}

function* matchesAtOnce(
  sql: Dialect,
  sequences: TermSequences,
  request: SearchRequest,
  wanted: number,
): Operation<FoundMatches | null> {
  const { matches, matchesOf } = searchOf(sql);
  const chosen = chosenSessions(sql, request);
  if (chosen === null) {
    const scope = resultOf(openScope(sql, request));
    return scope === null ? null : yield* matches(sequences, scope.range, FIRST_DEPTH, wanted);
  }
  if (matchesOf === undefined || sequences.length === 0) return null;
  const found = yield* matchesOf(sequences, chosen, FIRST_DEPTH, wanted);
  // A session in which nothing is found may be another user's.
  const isNothing = found?.sequences.every(({ documents }) => documents === 0);
  return isNothing === true && request.sessionId !== undefined ? null : found;
}

// What comes of an operation that asks for nothing; null of another one.
function resultOf<T>(operation: Operation<T>): T | null {
  const step = operation.next();
  return step.done === true ? step.value : null;
}

/** Ranks by the words of a query; with `explain` each message has its reasons. */
export function rankByWords(sql: Dialect, query: SearchQuery, explain = false): RankMessages {
  const sequences = queryTerms(query);
  return function* (range, depth, best) {
    const found = yield* searchOf(sql).matches(sequences, range, depth);
    return yield* rankFound(sql, query, found, { range, explain, best });
  };
}

interface RankRequest {
  readonly range?: RowRange;
  readonly explain?: boolean | undefined;
  readonly best?: number | undefined;
}

function* rankFound(
  sql: Dialect,
  query: SearchQuery,
  { sequences, lengths, sessions, branches }: FoundMatches,
  { range, explain, best }: RankRequest,
): ReturnType<RankMessages> {
  const complete = sequences.every((sequence) => sequence.complete);
  // Of a sequence with too many matches to score each, those near matches of others are taken to be as good as usual; the
  // rest could not be among the best.
  const matches = sequences.map((sequence) => withUsual(sequence, sequence.others));
  const messages = messagesOf(matches);
  const addressOf = (number: number) => addressIn(sessions, number);
  const known = branches ?? (yield* findBranches(sql, sessions, messages, addressOf, range?.sessionId));
  const branchOf = known.size === 0 ? null : (number: number) => known.get(number);
  const options = { quotedFrom: quotedFrom(query), explain, best };
  const ranked = rankMatches(matches, { messages, lengths, sessionOf, branchOf }, options);
  return {
    ranked: sessions === null ? ranked : ranked.map((each) => Object.assign(each, addressOf(each.n))),
    complete,
  };
}

/** The row that has a number in a ranking. */
function addressIn(sessions: readonly NumberedSession[] | null, number: number): RowAddress {
  if (sessions === null) return { n: number };
  const { id, no } = sessions[sessionOf(number) - 1] as NumberedSession;
  return { n: no * SPAN + (number % SPAN), sessionId: id };
}

// The numbers of the sessions of messages in ascending order.
function sessionsOf(messages: Float64Array): number[] {
  const sessions: number[] = [];
  for (const number of messages) {
    const sessionNumber = sessionOf(number);
    if (sessionNumber !== sessions.at(-1)) sessions.push(sessionNumber);
  }
  return sessions;
}

// Those of the sessions that have several branches, by their numbers.
function* forkedOf(
  sql: Dialect,
  sessions: readonly NumberedSession[] | null,
  messages: Float64Array,
): Operation<readonly number[]> {
  if (messages.length === 0) return [];
  const numbers = sessionsOf(messages);
  // A join of many sessions would be planned as one with all branches of the store.
  const query =
    sessions === null
      ? `SELECT s.lo FROM ${sql.segmentTable} AS s WHERE (SELECT max(b.branch) FROM assistant_branches b WHERE b.no = s.lo) IS NOT NULL`
      : `SELECT DISTINCT s.lo FROM ${sql.segmentTable} AS s JOIN assistant_branches b ON b.session_id = s.owner`;
  const idOf = (number: number) => (sessions === null ? [] : [sessions[number - 1]?.id]);
  const found = yield* column<number>(
    query,
    JSON.stringify(numbers.map((number) => [0, number, number, ...idOf(number)])),
  );
  return found.map(Number);
}

/** The branches of messages of sessions that have several, by their numbers. A branch that goes on is found by where it began. */
function* findBranches(
  sql: Dialect,
  sessions: readonly NumberedSession[] | null,
  messages: Float64Array,
  addressOf: (number: number) => RowAddress,
  sessionId: string | null | undefined,
): Operation<ReadonlyMap<number, number>> {
  const forked = new Set(yield* forkedOf(sql, sessions, messages));
  if (forked.size === 0) return new Map();
  const among = Array.from(messages).filter((number) => forked.has(sessionOf(number)));
  const columns = "m.n AS n, m.session_id AS session_id, m.branch AS branch";
  const rows = yield* findRows<BranchOfRow>(sql, among.map(addressOf), columns, sessionId);
  const branches = new Map<number, number>();
  for (const number of among) {
    const row = rows.get(keyOf(addressOf(number)));
    if (row !== undefined) branches.set(number, row.branch);
  }
  return branches;
}

type BranchOfRow = Pick<FoundRow, "n" | "session_id" | "branch">;

/** Of ranked messages those that a request asks for, in the same order; no more than `wanted`. */
function* acceptRows(
  sql: Dialect,
  scope: Scope,
  request: SearchRequest,
  ranked: readonly Ranked[],
  wanted: number,
): Operation<Ranked[]> {
  const { sessions } = scope;
  const isIn = ({ n: rowId, sessionId }: Ranked) => sessions?.has(sessionId ?? sessionOf(rowId));
  const inSessions = sessions === null ? ranked : ranked.filter(isIn);
  if (!looksAtRows(request)) return inSessions.slice(0, wanted);
  const content = request.metadata === undefined ? "" : ", m.content AS content";
  const columns = `m.n AS n, m.session_id AS session_id, m.branch AS branch, m.role AS role, m.dated_at AS dated_at, m.created_at AS created_at${content}`;
  const accepted: Ranked[] = [];
  for (let start = 0; start < inSessions.length && accepted.length < wanted; start += ROWS_AT_ONCE) {
    const some = inSessions.slice(start, start + ROWS_AT_ONCE);
    const rows = yield* findRows<CheckedRow>(sql, some, columns, scope.range?.sessionId);
    for (const candidate of some) {
      const row = rows.get(keyOf(candidate));
      if (row !== undefined && (yield* accepts(sql, scope, request, row))) accepted.push(candidate);
    }
  }
  return accepted.slice(0, wanted);
}

const ROWS_AT_ONCE = 500;

/** True where a message's row tells whether a request asks for it. */
function looksAtRows({ leafId, role, after, before, metadata }: SearchRequest): boolean {
  return [leafId, role, after, before, metadata].some((filter) => filter !== undefined);
}

type CheckedRow = Omit<HitRow, "id">;

function* accepts(sql: Dialect, { path }: Scope, request: SearchRequest, row: CheckedRow): Operation<boolean> {
  const { role, after, before, metadata } = request;
  if (role !== undefined && row.role !== role) return false;
  if (path !== null && !isOnPath(path, row)) return false;
  if (after !== undefined || before !== undefined) {
    const time = new Date(row.dated_at ?? row.created_at).getTime();
    if ((after !== undefined && time < after) || (before !== undefined && time >= before)) return false;
  }
  if (metadata === undefined) return true;
  const message = yield* readContent(rowsOf(sql, row.session_id, sessionOf(row.n)), row, () => {});
  return message !== null && hasMetadata(message, metadata);
}

function hasMetadata(message: SessionMessage, wanted: NonNullable<SearchRequest["metadata"]>): boolean {
  const given = message.metadata;
  if (typeof given !== "object" || given === null) return false;
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(given, key) && (given as Record<string, unknown>)[key] === value,
  );
}

/** The messages that a search may find. */
export interface Scope {
  /** The rows among which it looks; null for all of them. */
  readonly range: RowRange;
  /** The sessions that it is about, by their ids where rows name them, else by their numbers; null for all that the range tells. */
  readonly sessions: ReadonlySet<number | string> | null;
  /** The path to `leafId`. */
  readonly path: readonly Segment[] | null;
}

/** The scope of a request; null when nothing can be in it. Errors: `MESSAGE_NOT_FOUND` for its `leafId`, `SESSION_OWNED`. */
function* openScope(sql: Dialect, request: SearchRequest): Operation<Scope | null> {
  const { sessionId, leafId, userId } = request;
  if (sessionId === undefined) return yield* scopeOf(sql, request);
  if (userId !== undefined) yield* assertUser(sessionId, userId);
  const { sessionIds } = request;
  const isLeftOut = sessionIds?.includes(sessionId) === false;
  if (leafId === undefined) {
    const range = isLeftOut ? null : yield* rangeIn(sql, sessionId);
    return range === null ? null : { range, sessions: null, path: null };
  }
  const found = yield* findLeaf(sql, sessionId, leafId ?? undefined);
  if (found === null || isLeftOut) return null;
  const { head, leaf } = found;
  return { range: rangeOf(head.rows), sessions: null, path: yield* findSegments(head.rows, leaf) };
}

function* scopeOf(sql: Dialect, request: SearchRequest): Operation<Scope | null> {
  const chosen = chosenSessions(sql, request);
  if (chosen === null) return { range: null, sessions: null, path: null };
  const { ids, where } = chosen;
  const { condition, values } = where;
  const select = `SELECT s.no AS no, s.id AS id FROM assistant_sessions s WHERE ${condition}`;
  const found: NumberedTuple[] = ids === null ? yield* tuples<NumberedTuple>(select, ...values) : [];
  for (let start = 0; start < (ids?.length ?? 0); start += IDS_AT_ONCE) {
    const some = ids?.slice(start, start + IDS_AT_ONCE) ?? [];
    const marks = some.map(() => "?").join(", ");
    for (const row of yield* tuples<NumberedTuple>(`${select} AND s.id IN (${marks})`, ...values, ...some))
      found.push(row);
  }
  const [one, ...others] = found.sort(([a], [b]) => Number(a) - Number(b));
  if (one === undefined) return null;
  const [lowest, highest] = [Number(one[0]), Number((others.at(-1) ?? one)[0])];
  const bounds = { lo: floorOf(lowest), hi: ceilingOf(highest), sessionId: null };
  if (others.length === 0) return { range: { ...bounds, sessionId: one[1] }, sessions: null, path: null };
  const several = severalOf(found);
  const range = { ...bounds, chosen: several };
  if (areLookedInto(sql, several, highest - lowest))
    return { range: { ...range, several }, sessions: null, path: null };
  const sessions = new Set(found.map(([no, id]) => (sql.layout !== "local" ? id : Number(no))));
  return { range, sessions, path: null };
}

/** The sessions of a request, where a statement has to find them; null for all, and for one that anybody may search. */
function chosenSessions(sql: Dialect, request: SearchRequest): ChosenSessions | null {
  const { sessionId, sessionIds, userId, sessionMetadata: metadata } = request;
  if (sessionId === undefined) {
    if (sessionIds === undefined && userId === undefined && metadata === undefined) return null;
    const where = sessionFilter(sql, { userId, metadata });
    return { ids: sessionIds ?? null, where, isFrequent: metadata === undefined };
  }
  if (userId === undefined) return null;
  const ids = sessionIds?.includes(sessionId) === false ? [] : [sessionId];
  return { ids, where: { condition: "(s.user_id = ? OR s.user_id IS NULL)", values: [userId] }, isFrequent: true };
}

type NumberedTuple = [no: number, id: string];

// In ascending order; what no other session is between is one range.
function severalOf(sessions: readonly NumberedTuple[]): SeveralSessions {
  const ranges: [lo: number, hi: number][] = [];
  for (const [no] of sessions) {
    const [lo, hi] = [floorOf(Number(no)), ceilingOf(Number(no))];
    const last = ranges.at(-1);
    if (last !== undefined && lo <= last[1] + 1) last[1] = hi;
    else ranges.push([lo, hi]);
  }
  return { ids: sessions.map(([, id]) => id), ranges };
}

/**
 * To look into so many sessions takes no longer than to look for their messages among those of all others. By their numbers it
 * takes some microseconds for each range and word; the more sessions there are beside them, the longer takes the other way.
 */
function areLookedInto(sql: Dialect, { ids, ranges }: SeveralSessions, span: number): boolean {
  return sql.layout !== "local" ? ids.length <= MOST_NAMED : ranges.length <= Math.max(FEW_RANGES, 2 * Math.sqrt(span));
}

/** So many sessions are looked into by their ids. */
export const MOST_NAMED = 5_000;
const FEW_RANGES = 20;

// Rows that name their session are found by it.
function* rangeIn(sql: Dialect, sessionId: string): Operation<RowRange> {
  if (sql.layout !== "local") return { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId };
  const rows = yield* findSessionRows(sql, sessionId);
  return rows === null ? null : rangeOf(rows);
}

const rangeOf = ({ id, sessionNumber }: SessionRows): RowRange => ({
  lo: floorOf(sessionNumber),
  hi: ceilingOf(sessionNumber),
  sessionId: id,
});

// Engines bind at least a hundred values to a statement.
const IDS_AT_ONCE = 90;
