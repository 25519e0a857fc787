import { assertKnownOptions, assertStorableText, invalid, isJsonObject, type OptionNames } from "@stemma/model";
import type { MetadataValue, SearchRequest } from "@stemma/store";
import { assertLimit } from "./arguments.js";

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

const SESSION_NAMES: OptionNames<SearchPageOptions> = {
  limit: true,
  role: true,
  after: true,
  before: true,
  leafId: true,
  metadata: true,
  context: true,
  cursor: true,
};
const MANAGER_NAMES: OptionNames<ManagerSearchPageOptions> = {
  ...SESSION_NAMES,
  sessionIds: true,
  sessionMetadata: true,
};

const MAX_CONTEXT = 100;

/** The request that options stand for. Errors: `INVALID_ARGUMENT`. */
export function searchRequest(
  options: SearchOptions,
  names: Readonly<Record<string, true>> = SESSION_NAMES,
): SearchRequest {
  assertKnownOptions(options, "a search", names);
  const { limit = 20, role, leafId, metadata, context } = options;
  assertLimit(limit);
  if (context !== undefined && !(Number.isInteger(context) && context >= 0 && context <= MAX_CONTEXT)) {
    throw invalid(`context must be a whole number from 0 to ${MAX_CONTEXT}.`, { context });
  }
  for (const [name, text] of Object.entries({ role, leafId })) {
    const isAbsent = text === undefined || (name === "leafId" && text === null);
    if (!isAbsent && typeof text !== "string") throw invalid(`${name} must be a text.`, { [name]: text });
  }
  if (metadata !== undefined) assertMetadata(metadata, "metadata");
  const after = timeOf("after", options.after);
  const before = timeOf("before", options.before);
  return { limit, role, after, before, leafId, metadata, context };
}

/** The request of a manager's options: `leafId` needs the session that it is in. Errors: `INVALID_ARGUMENT`. */
export function managerSearchRequest(options: ManagerSearchOptions): SearchRequest {
  const request = searchRequest(options, MANAGER_NAMES);
  const { sessionIds, sessionMetadata } = options;
  if (sessionMetadata !== undefined) assertSessionMetadata(sessionMetadata, "sessionMetadata");
  if (sessionIds !== undefined && !(Array.isArray(sessionIds) && sessionIds.every((id) => typeof id === "string"))) {
    throw invalid("sessionIds is an array of session ids.", { sessionIds });
  }
  if (request.leafId === undefined) return { ...request, sessionIds, sessionMetadata };
  const [sessionId, ...others] = new Set(sessionIds);
  // Of one session by its id, nothing else needs to be known.
  if (sessionId !== undefined && others.length === 0 && sessionMetadata === undefined) return { ...request, sessionId };
  const message =
    "leafId names a message of one session: pass that session's id in sessionIds, and no sessionMetadata.";
  throw invalid(message, { leafId: request.leafId, sessionIds });
}

/** Runs a search for one page: `search` is asked for one result more than the page shows. */
export async function searchPage<Result>(
  request: SearchRequest,
  cursor: string | null | undefined,
  search: (request: SearchRequest) => Promise<Result[]>,
): Promise<SearchPage<Result>> {
  const offset = cursor === undefined || cursor === null ? 0 : offsetOf(cursor);
  const found = await search({ ...request, offset, limit: request.limit + 1 });
  const results = found.slice(0, request.limit);
  return { results, nextCursor: found.length > results.length ? `${offset + results.length}` : null };
}

function offsetOf(cursor: string): number {
  if (typeof cursor === "string" && /^[1-9]\d{0,8}$/.test(cursor)) return Number(cursor);
  throw invalid("A cursor is the nextCursor of an earlier page, as it was given.", { cursor });
}

function timeOf(name: string, value: SearchOptions["after"]): number | undefined {
  if (value === undefined) return undefined;
  const isTime = value instanceof Date || typeof value === "string" || typeof value === "number";
  const time = isTime ? new Date(value).getTime() : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw invalid(`${name} is a Date, a time as ISO text, or milliseconds since 1970.`, { [name]: value });
}

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` for what no session's metadata can be compared with. */
export function assertSessionMetadata(metadata: unknown, what: string): void {
  assertMetadata(metadata, what);
  for (const text of Object.entries(metadata).flat()) if (typeof text === "string") assertStorableText(text, what);
}

function assertMetadata(metadata: unknown, what: string): asserts metadata is object {
  const simple = (value: unknown) => value === null || ["string", "number", "boolean"].includes(typeof value);
  if (isJsonObject(metadata) && Object.values(metadata).every(simple)) return;
  throw invalid(`${what} is an object of texts, numbers, booleans and nulls to compare with.`, { [what]: metadata });
}
