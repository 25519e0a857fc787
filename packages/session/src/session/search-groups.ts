import {
  check,
  defineOptions,
  isoTime,
  type SessionMessage,
  StemmaError,
  searchableText,
  senderName,
} from "@stemma/model";
import type { FoundMessage, SearchHit, SearchRequest } from "@stemma/store";
import type { SearchResult } from "./own-provider/provider.js";
import {
  MANAGER_SEARCH_PAGE,
  type ManagerSearchPageOptions,
  SEARCH_PAGE,
  type SearchPage,
  type SearchPageOptions,
} from "./search-options.js";

/** Results that belong together; `limit` is the number of groups. */
interface Grouped {
  /** The results of an exchange, a user's message with its answer, or those of a session are one group. */
  groupBy: "exchange" | "session";
  /** How many results of a group at most; default 3, at most 100. */
  groupSize?: number | undefined;
  /** Tell of each result why it ranks where it does; default false. */
  explain?: boolean | undefined;
}

/** Options of `Session.searchGroups`: those of a page of a search, without `context`, and how its results are grouped. */
export interface SearchGroupsOptions extends Omit<SearchPageOptions, "context">, Grouped {}

/** Options of `SessionManager.searchGroups`. */
export interface ManagerSearchGroupsOptions extends Omit<ManagerSearchPageOptions, "context">, Grouped {}

/** The results of a search that belong to one exchange or one session. */
export interface SearchGroup<Result = SearchHit> {
  sessionId: string;
  /** Higher is better; comparable within one search only. */
  score: number;
  /** Its best results, best first: at most `groupSize`. */
  hits: Result[];
  /** Of a search by exchange. */
  exchange?: Exchange;
}

/** A user's message with its answer. */
export interface Exchange {
  /** The message that begins it, by whose id it is known; null for what stands before the first message of a user. */
  user: ExchangeMessage | null;
  /** The last message of an assistant before the next one of a user; null where there is none yet. */
  answer: ExchangeMessage | null;
}

/** One message of an exchange. */
export interface ExchangeMessage extends FoundMessage {
  /** The search finds it. */
  matched: boolean;
}

const { context: _, ...page } = SEARCH_PAGE.checks;
const { context: __, ...managerPage } = MANAGER_SEARCH_PAGE.checks;
const GROUPED = {
  groupBy: check.required(check.oneOf("exchange", "session")),
  groupSize: check.whole(1, 100),
  explain: check.flag,
};
export const SEARCH_GROUPS = defineOptions<SearchGroupsOptions>({ ...page, ...GROUPED });
export const MANAGER_SEARCH_GROUPS = defineOptions<ManagerSearchGroupsOptions>({ ...managerPage, ...GROUPED });

/** So many of the best results are grouped at first, and so many where they are too few groups. */
const DEPTHS = [250, 2_000];

/**
 * The weight of the results of a group beside its best one: the score is their p-norm. Measured on LoCoMo, REALTALK and BEAM: 4 to 6
 * find most sessions; the best result alone, or a share of all, finds fewer.
 */
const POWER = 5;

type Found = SearchResult & Pick<Partial<SearchHit>, "exchange">;

/** The reads of a search by groups. */
interface Reads<Result> {
  /** The session whose results do not name theirs. */
  readonly id?: string | undefined;
  search(request: SearchRequest): Promise<Result[]>;
  message(sessionId: string, id: string): Promise<SessionMessage | null>;
}

/** Runs a search for one page of groups. What only the second depth shows stands behind all that the first did, so pages are stable. */
export async function searchGroups<Result extends Found>(
  request: SearchRequest,
  { groupBy, groupSize = 3, explain, cursor }: Grouped & Pick<SearchPageOptions, "cursor">,
  reads: Reads<Result>,
): Promise<SearchPage<SearchGroup<Omit<Result, "exchange">>>> {
  const start = Number(cursor ?? 0);
  const end = start + request.limit;
  const groups = new Map<string, Ranked<Result>>();
  let offset = 0;
  for (const depth of DEPTHS) {
    const limit = depth - offset;
    const found = await reads.search({
      ...request,
      limit,
      offset,
      explain,
      exchange: groupBy === "exchange" || undefined,
    });
    const lowest = [...groups.values()].at(-1)?.score ?? Number.POSITIVE_INFINITY;
    for (const [key, group] of rankGroups(found, groupBy, groups)) {
      groups.set(key, { ...group, score: Math.min(group.score, lowest) });
    }
    if (found.length < limit || groups.size > end) break;
    offset = depth;
  }
  const shown = [...groups.values()].slice(start, end);
  const results = await Promise.all(
    shown.map(async ({ score, found }) => {
      const sessionId = found[0]?.sessionId ?? reads.id ?? "";
      const hits = found.slice(0, groupSize).map(({ exchange: _, ...hit }) => hit);
      const group = { sessionId, score, hits };
      return groupBy === "session" ? group : { ...group, exchange: await readExchange(sessionId, found, reads) };
    }),
  );
  return { results, nextCursor: groups.size > end ? `${end}` : null };
}

interface Ranked<Result> {
  readonly score: number;
  readonly found: readonly Result[];
}

/** The groups of results that are not `known`, best first. */
function rankGroups<Result extends Found>(
  results: readonly Result[],
  groupBy: "exchange" | "session",
  known: ReadonlyMap<string, unknown>,
): [key: string, Ranked<Result>][] {
  const groups = new Map<string, Result[]>();
  for (const result of results) {
    const key = JSON.stringify([result.sessionId, groupBy === "exchange" ? result.exchange?.user : null]);
    const group = groups.get(key);
    if (group !== undefined) group.push(result);
    else if (!known.has(key)) groups.set(key, [result]);
  }
  const ranked = [...groups].map(([key, found]): [string, Ranked<Result>] => {
    const scores = found.map(({ score = 0 }) => score);
    return [key, { score: scoreOf(scores), found }];
  });
  return ranked.sort(([, a], [, b]) => b.score - a.score);
}

/** Of a group whose results have these scores, best first. */
function scoreOf([best = 0, ...others]: readonly number[]): number {
  if (best <= 0) return best;
  const sum = others.reduce((sum, score) => sum + Math.max(0, score / best) ** POWER, 1);
  return best * sum ** (1 / POWER);
}

async function readExchange<Result extends Found>(
  sessionId: string,
  found: readonly Result[],
  { message }: Reads<Result>,
): Promise<Exchange> {
  const read = async (id: string | null | undefined): Promise<ExchangeMessage | null> => {
    if (id == null) return null;
    const stored = await message(sessionId, id).catch((error) => {
      // As a search shows it: one that cannot be read has no text.
      if (!StemmaError.isInstance(error, "CORRUPT_MESSAGE")) throw error;
      return null;
    });
    if (stored === null) return null;
    const name = senderName(stored);
    return {
      id,
      role: stored.role,
      ...(name !== "" && { name }),
      content: searchableText(stored),
      createdAt: isoTime(stored.createdAt) ?? "",
      matched: found.some((result) => result.id === id),
    };
  };
  const { user, answer } = found[0]?.exchange ?? {};
  const [first, last] = await Promise.all([read(user), read(answer)]);
  return { user: first, answer: last };
}
