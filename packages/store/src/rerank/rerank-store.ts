import { bestStretch, invalid, parseQuery, type SearchQuery, StemmaError, snippetOfStretch } from "@stemma/model";
import type { EntryStore, FoundEntry, SearchHit, SearchRequest, Store } from "../contract/store.js";
import { entryTitle } from "../operations/memory/entry-rows.js";
import { checkedEntries } from "../sql/entry-arguments.js";
import { wrapMade } from "../sql/store-of.js";
import { Reranker } from "./reranker.js";
import type { RerankableStore } from "./rerankers.js";

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

/**
 * The order of hits of which the first were asked a reranker about: their shares of the best score, and how far its numbers stand
 * out among each other. Those without a number come behind them in their order.
 */
function rankAgain(
  hits: readonly { readonly score: number }[],
  scores: readonly (number | null)[],
  threshold = Number.NEGATIVE_INFINITY,
): Place[] {
  const [best] = hits;
  const scored = scores.flatMap((rerankScore, from) => (rerankScore === null ? [] : [{ from, rerankScore }]));
  const standing = standardised(scored.map(({ rerankScore }) => rerankScore));
  const places = scored.map(({ from, rerankScore }, at): Place => {
    return { from, score: shareOf(hits[from], best) + WEIGHT * (standing[at] as number), rerankScore };
  });
  const ranked = places.filter(({ rerankScore = 0 }) => rerankScore >= threshold);
  ranked.sort((a, b) => b.score - a.score || a.from - b.from);
  if (threshold !== Number.NEGATIVE_INFINITY) return ranked;
  const others = hits.flatMap((hit, from): Place[] =>
    scores[from] == null ? [{ from, score: scoreBehind(hit, best, scores.length) }] : [],
  );
  return [...ranked, ...others];
}

type Scored = { readonly score: number } | undefined;

const shareOf = (hit: Scored, best: Scored): number => (hit?.score ?? 0) / (best?.score || 1);

/** As if the reranker had found nothing worse: of so many numbers none is further below the others than this. */
const scoreBehind = (hit: Scored, best: Scored, candidates: number): number =>
  shareOf(hit, best) - WEIGHT * Math.sqrt(candidates - 1);

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
