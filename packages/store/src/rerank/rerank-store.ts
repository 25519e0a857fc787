import {
  bestStretch,
  check,
  defineOptions,
  invalid,
  kindOf,
  parseQuery,
  Recent,
  reasonOf,
  type SearchExplanation,
  type SearchQuery,
  StemmaError,
  snippetOfStretch,
  unlessAborted,
} from "@stemma/model";
import type { EntryStore, FoundEntry, Observer, SearchHit, SearchRequest, Store } from "../contract/store.js";
import { report } from "../embeddings/background-worker.js";
import { entryTitle } from "../operations/memory/entry-rows.js";
import { checkedEntries } from "../sql/entry-arguments.js";
import { wrapMade } from "../sql/store-of.js";
import type { RerankableStore, RerankerOptions, RerankFunction, RerankingModel } from "./rerankers.js";

/** How much a standard deviation of the reranker's scores counts, where the best hit before counts 1: measured, 0.1 to 0.35 find as much. */
const WEIGHT = 0.2;

/** Gives a store `withReranker`. */
export function rerankable<S extends Store>(store: S): S & RerankableStore {
  const withReranker: RerankableStore["withReranker"] = (given, options = {}) => {
    const reranker = new Reranker(given, options);
    if (!store.capabilities.search) {
      const message = "withReranker() needs a store with search: open this store without `search: false`.";
      throw new StemmaError("SEARCH_UNAVAILABLE", { store: store.name }, message);
    }
    return reranked(whole, reranker);
  };
  const whole = { ...store, withReranker } as S & RerankableStore;
  return whole;
}

// A later reranker takes the place of this one: `withReranker` is that of the store below.
function reranked<S extends Store>(store: S, reranker: Reranker): S {
  const { name, entries } = store;
  const { withEmbedder: embedding, once } = wrapMade(store, (made) => reranked(made, reranker));
  return {
    ...store,
    forUser: (userId: string) => reranked(store.forUser(userId), reranker),
    session: (id: string) => {
      const session = store.session(id);
      return { ...session, search: searching(session.search, reranker, name) };
    },
    search: searching(store.search, reranker, name),
    entries: checkedEntries({ ...entries, search: searchingEntries(entries.search, reranker, name) }),
    observeReranker: (observer: Reranker["observer"]) => {
      reranker.observer = observer;
    },
    ...(embedding === undefined ? {} : { withEmbedder: embedding }),
    ...(once === undefined ? {} : { once }),
  };
}

type Search = Store["search"];

/** A search of messages whose best hits the reranker reorders. */
function searching(search: Search, reranker: Reranker, store: string): Search {
  const { candidates } = reranker;
  return async (query, { rerank, threshold, signal, ...request }) => {
    assertThreshold(threshold, rerank);
    if (rerank === false) return search(query, request);
    const { limit, offset = 0, explain = false } = request;
    if (offset >= candidates && threshold === undefined) return searchBehind(search, query, request, candidates);
    const end = offset + limit;
    const found = await search(query, { ...request, offset: 0, limit: Math.max(candidates, end), explain: true });
    const parsed = parseQuery(query);
    const asked = found.slice(0, candidates).map((hit) => passageOf(hit, parsed));
    const passages = asked.map(({ passage }) => passage);
    const scores = await reranker.score(parsed.text, passages, { store, signal, isLater: offset > 0 });
    if (scores instanceof StemmaError) {
      const { message: failure } = scores;
      return found.slice(offset, end).map((hit, at) => explained(hit, explain, { from: offset + at, failure }));
    }
    return rankAgain(found, scores, threshold)
      .slice(offset, end)
      .map(({ from, score, rerankScore }) => {
        const hit = { ...explained(found[from] as SearchHit, explain, { from, score: rerankScore }), score };
        const stretch = asked[from]?.stretch;
        if (rerankScore === undefined || stretch === undefined) return hit;
        return { ...hit, rerankScore, snippet: snippetOfStretch(hit.content, stretch, parsed) };
      });
  };
}

/** A page behind the candidates, for which no reranker need be asked. */
async function searchBehind(
  search: Search,
  query: string,
  request: SearchRequest,
  candidates: number,
): Promise<SearchHit[]> {
  const { offset = 0, explain = false } = request;
  const [best] = await search(query, { ...request, offset: 0, limit: 1, context: 0, explain: false });
  const found = await search(query, request);
  return found.map((hit, at) => ({
    ...explained(hit, explain, { from: offset + at }),
    score: scoreBehind(hit, best, candidates),
  }));
}

/** A search of entries whose best hits the reranker reorders. */
function searchingEntries(search: EntryStore["search"], reranker: Reranker, store: string): EntryStore["search"] {
  return async (scope, query, { rerank, threshold, signal, ...options }) => {
    assertThreshold(threshold, rerank);
    if (rerank === false) return search(scope, query, options);
    const { candidates } = reranker;
    const { limit } = options;
    const found = await search(scope, query, { ...options, limit: Math.max(candidates, limit) });
    const parsed = parseQuery(query);
    const passages = found.slice(0, candidates).map((entry) => {
      const { start, end } = bestStretch(entry.content, parsed);
      return passage(entryTitle(entry), entry.content.slice(start, end));
    });
    const scores = await reranker.score(parsed.text, passages, { store, signal });
    if (scores instanceof StemmaError) return found.slice(0, limit);
    return rankAgain(found, scores, threshold)
      .slice(0, limit)
      .map(({ from, ...place }) => ({ ...(found[from] as FoundEntry), ...place }));
  };
}

function assertThreshold(threshold: number | undefined, rerank: boolean | undefined): void {
  if (threshold === undefined || rerank !== false) return;
  throw invalid("threshold is on the scale of the reranker: leave it out, or leave out `rerank: false`.", {
    threshold,
  });
}

const passage = (title: string, text: string): string => (title === "" ? text : `${title}: ${text}`);

function passageOf({ name = "", content, explanation }: SearchHit, query: SearchQuery): Passage {
  const stretch = bestStretch(content, query, explanation?.words);
  return { passage: passage(name, content.slice(stretch.start, stretch.end)), stretch };
}

interface Passage {
  readonly passage: string;
  readonly stretch: ReturnType<typeof bestStretch>;
}

// Asked for in any case: the words that count tell which stretch of a message is the best.
function explained(
  { explanation, ...hit }: SearchHit,
  explain: boolean,
  { from, score = null, failure = null }: { from: number; score?: number | null | undefined; failure?: string | null },
): SearchHit {
  if (!explain || explanation === undefined) return hit;
  return { ...hit, explanation: { ...explanation, reranker: { from: from + 1, score, failure } } };
}

interface Place {
  /** The index of a hit in the order before. */
  readonly from: number;
  readonly score: number;
  readonly rerankScore?: number;
}

/** A hit, and how its score comes about where that is known. */
interface Scored {
  readonly score: number;
  readonly explanation?: Pick<SearchExplanation, "meaning"> | undefined;
}

/**
 * The order of hits of which the first were asked a reranker about: their shares of the best score by words, and how far its numbers
 * stand out among each other. Their similarity is left out: it has chosen them, and the reranker has read what vectors only compare.
 * Those without a number come behind them in their order, and all stay in it where all numbers are equal.
 */
function rankAgain(
  hits: readonly Scored[],
  scores: readonly (number | null)[],
  threshold = Number.NEGATIVE_INFINITY,
): Place[] {
  const scored = scores.flatMap((rerankScore, from) => (rerankScore === null ? [] : [{ from, rerankScore }]));
  const standing = standardised(scored.map(({ rerankScore }) => rerankScore));
  const isTold = standing.some((each) => each !== 0);
  const own = hits.map(({ score, explanation }) => (isTold ? Math.max(0, score - (explanation?.meaning ?? 0)) : score));
  const best = Math.max(...own.slice(0, scores.length)) || 1;
  const places = scored.map(({ from, rerankScore }, at): Place => {
    return { from, score: (own[from] as number) / best + WEIGHT * (standing[at] as number), rerankScore };
  });
  const ranked = places.filter(({ rerankScore = 0 }) => rerankScore >= threshold);
  ranked.sort((a, b) => b.score - a.score || a.from - b.from);
  if (threshold !== Number.NEGATIVE_INFINITY) return ranked;
  const others = hits.flatMap((hit, from): Place[] =>
    scores[from] == null ? [{ from, score: scoreBehind(hit, hits[0], scores.length) }] : [],
  );
  return [...ranked, ...others];
}

/** Below what any candidate has: of so many numbers none is further below the others than this. */
const scoreBehind = (hit: Scored, best: Scored | undefined, candidates: number): number =>
  hit.score / (best?.score || 1) - 1 - WEIGHT * Math.sqrt(candidates - 1);

/** Numbers as standard deviations from their mean; 0 each where they are all equal. */
function standardised(numbers: readonly number[]): number[] {
  // Of the largest: the square of a large number may be none.
  const largest = numbers.reduce((most, each) => Math.max(most, Math.abs(each)), 0) || 1;
  const shares = numbers.map((each) => each / largest);
  const mean = shares.reduce((sum, each) => sum + each, 0) / shares.length;
  const deviation = Math.sqrt(shares.reduce((sum, each) => sum + (each - mean) ** 2, 0) / shares.length);
  const isOne = numbers.every((each) => each === numbers[0]);
  return shares.map((each) => (isOne ? 0 : (each - mean) / deviation));
}

const CANDIDATES = 50;
const TIMEOUT = 2_000;
/** The most that a timer takes. */
const LONGEST = 2 ** 31 - 1;
/** Characters of a query that are asked about. */
const QUERY_LENGTH = 2_000;
/** How many characters of questions are kept with their scores, in all: pages of one search share them. */
const REMEMBERED = 1_000_000;

const OPTIONS = defineOptions<RerankerOptions>({
  candidates: check.whole(1, 1_000),
  timeout: check.whole(1, LONGEST),
  onError: check.callable,
});

interface ScoreOptions {
  /** The name of the one that is searched. */
  readonly store: string;
  readonly signal: AbortSignal | undefined;
  readonly isLater?: boolean;
}

/** Scores passages by a user's reranker, within its time. */
class Reranker {
  readonly candidates: number;
  /** Is told of each call. */
  observer: Observer = (_told, work) => work((part) => part());
  readonly #rerank: RerankFunction;
  readonly #timeout: number;
  readonly #onError: (error: unknown) => void;
  readonly #remembered = new Recent<readonly (number | null)[] | StemmaError>(REMEMBERED);

  /** Errors: `INVALID_ARGUMENT`. */
  constructor(reranker: RerankFunction | RerankingModel, options: RerankerOptions) {
    this.#rerank = functionOf(reranker);
    OPTIONS.assert(options, "withReranker()");
    const { candidates = CANDIDATES, timeout = TIMEOUT, onError = () => {} } = options;
    this.candidates = candidates;
    this.#timeout = timeout;
    this.#onError = onError;
  }

  /** A score for each passage, or why there is none: `RERANKER_FAILED`. A later page of a search goes on as the first one began. */
  async score(
    text: string,
    passages: readonly string[],
    { store, signal, isLater = false }: ScoreOptions,
  ): Promise<readonly (number | null)[] | StemmaError> {
    if (passages.length === 0) return [];
    const query = text.slice(0, QUERY_LENGTH).toWellFormed();
    const key = JSON.stringify([query, passages]);
    const known = this.#remembered.get(key);
    if (known !== undefined && (isLater || !(known instanceof StemmaError))) return known;
    let scores: readonly (number | null)[] | StemmaError;
    try {
      scores = await this.observer({ type: "rerank", name: "rerank", store, values: [query, passages] }, () =>
        this.#ask(query, passages, signal),
      );
    } catch (error) {
      report(this.#onError, error);
      scores = error as StemmaError;
    }
    this.#remembered.set(key, scores, key.length);
    return scores;
  }

  async #ask(query: string, passages: readonly string[], signal: AbortSignal | undefined): Promise<(number | null)[]> {
    const patience = new AbortController();
    const late = () => patience.abort(new Error(`no answer within ${this.#timeout} ms`));
    const timer = setTimeout(late, this.#timeout);
    try {
      signal?.throwIfAborted();
      const ended = signal === undefined ? patience.signal : AbortSignal.any([patience.signal, signal]);
      const asked = Promise.resolve(this.#rerank(query, [...passages], { signal: ended }));
      return readScores(await unlessAborted(asked, ended), passages.length);
    } catch (cause) {
      const why = signal?.aborted === true ? "the search was aborted" : reasonOf(cause);
      const details = { passages: passages.length };
      throw new StemmaError("RERANKER_FAILED", details, `The reranker failed: ${why}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

function functionOf(reranker: RerankFunction | RerankingModel): RerankFunction {
  if (isModel(reranker)) {
    return async (query, values, { signal }) => {
      const documents = { type: "text", values } as const;
      const { ranking } = await reranker.doRerank({ query, documents, abortSignal: signal });
      const scores = new Array<number | null>(values.length).fill(null);
      for (const { index, relevanceScore } of ranking) scores[index] = relevanceScore;
      return scores;
    };
  }
  if (typeof reranker === "function") return reranker;
  const message = `withReranker() takes a function, or a reranking model of the AI SDK; got ${kindOf(reranker)}.`;
  throw invalid(message);
}

function isModel(value: unknown): value is RerankingModel {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const { specificationVersion, doRerank } = value as Partial<RerankingModel>;
  return typeof specificationVersion === "string" && typeof doRerank === "function";
}

// Copied: whoever gave them may change them.
function readScores(found: unknown, count: number): (number | null)[] {
  const isList = Array.isArray(found) || ArrayBuffer.isView(found);
  const scores = isList ? Array.from(found as ArrayLike<number | null>) : [];
  if (!isList || scores.length !== count) {
    throw new TypeError(`it gave ${isList ? scores.length : "no"} scores for ${count} passages`);
  }
  if (scores.every((score) => score === null)) throw new TypeError("it gave no score for any passage");
  const wrong = scores.findIndex((score) => score !== null && !Number.isFinite(score));
  if (wrong < 0) return scores;
  throw new RangeError(`it gave no finite number for passage ${wrong + 1} of ${count}`);
}
