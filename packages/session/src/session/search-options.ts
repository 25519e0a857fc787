import { check, defineOptions, invalid, type OptionTable } from "@stemma/model";
import type { MetadataValue, SearchRequest } from "@stemma/store";
import { comparable, LEAF, storableFields } from "./arguments.js";

/** Options that narrow a search, and say what it gives. */
export interface SearchOptions {
  /** How many results at most; default 20. */
  limit?: number | undefined;
  /** Only messages of this role. */
  role?: string | undefined;
  /** Only messages of this time (`createdAt`, else when they were stored) or later. */
  after?: Date | string | number | undefined;
  /** Only messages of before this time. */
  before?: Date | string | number | undefined;
  /** Only messages on the path to this one; null is the active leaf. Unknown: `MESSAGE_NOT_FOUND`. */
  leafId?: string | null | undefined;
  /** Only messages whose `metadata` has each of these fields with just this value. */
  metadata?: Record<string, MetadataValue> | undefined;
  /** How many messages before and after each result to give along, on the same path; default 0, at most 100. */
  context?: number | undefined;
  /** False: the store's reranker is not asked. Default true; without a reranker it means nothing. */
  rerank?: boolean | undefined;
  /**
   * The least score, on the reranker's own scale (`rerankScore`), that a result must have: the rest is left out, also what the
   * reranker was not asked about. Where the reranker fails it does not count. `INVALID_ARGUMENT` without a reranker, and with
   * `rerank: false`.
   */
  threshold?: number | undefined;
  /** Aborted, the search waits for the reranker no longer, and answers without. */
  signal?: AbortSignal | undefined;
}

export interface SearchPageOptions extends SearchOptions {
  /** The `nextCursor` of the page before. */
  cursor?: string | null | undefined;
}

/** Of all sessions, or of some. */
export interface ManagerSearchOptions extends SearchOptions {
  /** Only messages of these sessions. */
  sessionIds?: readonly string[] | undefined;
  /** Only messages of sessions whose metadata has each of these fields with just this value; null for a field that is not there. */
  sessionMetadata?: Record<string, MetadataValue> | undefined;
}

export interface ManagerSearchPageOptions extends ManagerSearchOptions {
  cursor?: string | null | undefined;
}

/** One page of results; `nextCursor` is null after the last. */
export interface SearchPage<Result> {
  results: Result[];
  nextCursor: string | null;
}

const MAX_CONTEXT = 100;

/** How many results stood before, and whether a reranker had ordered them: the next page goes on in the same order. */
const RERANKED = "r";
const CURSOR = /^r?[1-9]\d{0,8}$/;

const time = check.rule<Date | string | number>(
  "a Date, a time as ISO text, or milliseconds since 1970",
  (value) => !Number.isNaN(timeOf(value)),
);
const cursor = check.orNull(
  check.rule<string>(
    "the nextCursor of an earlier page, as it was given",
    (value) => typeof value === "string" && CURSOR.test(value),
  ),
);
const SEARCH = defineOptions<SearchOptions>({
  limit: check.whole(1),
  role: check.text,
  after: time,
  before: time,
  leafId: LEAF,
  metadata: comparable,
  context: check.whole(0, MAX_CONTEXT),
  rerank: check.flag,
  threshold: check.finite,
  signal: check.signal,
});
const MANAGER_SEARCH = defineOptions<ManagerSearchOptions>({
  ...SEARCH.checks,
  sessionIds: check.texts("session ids"),
  sessionMetadata: storableFields,
});
export const SEARCH_PAGE = defineOptions<SearchPageOptions>({ ...SEARCH.checks, cursor });
export const MANAGER_SEARCH_PAGE = defineOptions<ManagerSearchPageOptions>({ ...MANAGER_SEARCH.checks, cursor });

/** The request that options stand for. Errors: `INVALID_ARGUMENT`. */
export function searchRequest(
  options: SearchOptions,
  table: Pick<OptionTable<object>, "assert"> = SEARCH,
): SearchRequest {
  table.assert(options, "a search");
  const { limit = 20, role, leafId, metadata, context, rerank, threshold, signal } = options;
  const after = options.after === undefined ? undefined : timeOf(options.after);
  const before = options.before === undefined ? undefined : timeOf(options.before);
  return { limit, role, after, before, leafId, metadata, context, rerank, threshold, signal };
}

/** The request of a manager's options: `leafId` needs the session that it is in. Errors: `INVALID_ARGUMENT`. */
export function managerSearchRequest(
  options: ManagerSearchOptions,
  table: Pick<OptionTable<object>, "assert"> = MANAGER_SEARCH,
): SearchRequest {
  const request = searchRequest(options, table);
  const { sessionIds, sessionMetadata } = options;
  if (request.leafId === undefined) return { ...request, sessionIds, sessionMetadata };
  const [sessionId, ...others] = new Set(sessionIds);
  // Of one session by its id, nothing else needs to be known.
  if (sessionId !== undefined && others.length === 0 && sessionMetadata === undefined) return { ...request, sessionId };
  const message =
    "leafId names a message of one session: pass that session's id in sessionIds, and no sessionMetadata.";
  throw invalid(message, { leafId: request.leafId, sessionIds });
}

/**
 * Runs a search for one page: `search` is asked for one result more than the page shows. What began by words, as where the
 * reranker failed, goes on by words.
 */
export async function searchPage<Result extends { readonly rerankScore?: number }>(
  request: SearchRequest,
  cursor: string | null | undefined,
  search: (request: SearchRequest) => Promise<Result[]>,
): Promise<SearchPage<Result>> {
  const offset = Number(cursor?.replace(RERANKED, "") ?? 0);
  const byWords = cursor != null && !cursor.startsWith(RERANKED) ? { rerank: false, threshold: undefined } : {};
  const found = await search({ ...request, ...byWords, offset, limit: request.limit + 1 });
  const results = found.slice(0, request.limit);
  const isReranked = cursor?.startsWith(RERANKED) ?? results.some(({ rerankScore }) => rerankScore !== undefined);
  const next = `${isReranked ? RERANKED : ""}${offset + results.length}`;
  return { results, nextCursor: found.length > results.length ? next : null };
}

/** In milliseconds since 1970; NaN for no time. */
function timeOf(value: Date | string | number): number {
  const isTime = value instanceof Date || typeof value === "string" || typeof value === "number";
  return isTime ? new Date(value).getTime() : Number.NaN;
}
