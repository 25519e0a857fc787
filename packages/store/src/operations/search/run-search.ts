import type { SessionMessage } from "@stemma/model";
import {
  keyOf,
  messagesOf,
  queryTerms,
  quotedFrom,
  type Ranked,
  type RowAddress,
  rankMatches,
  type SearchQuery,
  StemmaError,
  type TermSequences,
  withUsual,
} from "@stemma/model";
import type { SearchHit, SearchRequest } from "../../contract/store.js";
import type {
  Dialect,
  FoundMatches,
  FoundRow,
  NumberedSession,
  RowRange,
  SearchDialect,
} from "../../engine/dialect.js";
import { column, type Operation } from "../../engine/operation.js";
import { rowsOf } from "../../engine/session-rows.js";
import { readContent } from "../messages/content.js";
import { SPAN, sessionOf } from "../messages/row-id.js";
import { isOnPath } from "../path/path.js";
import type { HitRow } from "./search-hits.js";
import { findHits, findRows, readHits } from "./search-hits.js";
import { chosenSessions, openScope, type Scope } from "./search-scope.js";

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
 * The same outside of a transaction: one statement, or two, of which the second makes sure that what it shows is as the first one
 * found it. Null where it is not, where it would take more of them, and where they do not tell what is wrong.
 */
export function* searchAtOnce(sql: Dialect, query: SearchQuery, request: SearchRequest): Operation<SearchHit[] | null> {
  const { offset = 0, limit, sessionId, explain } = request;
  const wanted = offset + limit;
  if (sql.search?.atOnce === false || looksAtRows(request) || !Number.isSafeInteger(wanted)) return null;
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
  { sequences, sessions, branches }: FoundMatches,
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
  const ranked = rankMatches(matches, { sessionOf, branchOf }, { quotedFrom: quotedFrom(query), explain, best });
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
