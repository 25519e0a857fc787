import type { Store } from "../contract/store.js";

/**
 * Tells how well each passage answers a query: one finite number for each, in their order; higher is better. The scale is its
 * own. Null for a passage that there was no time for: it then stands behind all that have a number. `signal` is aborted when no
 * one waits for the numbers any more.
 */
export type RerankFunction = (
  query: string,
  passages: string[],
  options: { readonly signal: AbortSignal },
) => (number | null)[] | PromiseLike<(number | null)[]>;

/** The part of a reranking model of the AI SDK that is used: those of every provider package fit, for AI SDK 6 and 7. */
export interface RerankingModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doRerank(options: {
    query: string;
    documents: { type: "text"; values: string[] };
    abortSignal?: AbortSignal;
  }): PromiseLike<{ ranking: readonly { readonly index: number; readonly relevanceScore: number }[] }>;
}

export interface RerankerOptions {
  /** How many of the best hits are reordered; those behind them stay in their order. Default 50. */
  candidates?: number | undefined;
  /** How long a search waits for the reranker before it answers without, in milliseconds. Default 2,000. */
  timeout?: number | undefined;
  /** Called with each failure (`RERANKER_FAILED`). */
  onError?: ((error: unknown) => void) | undefined;
}

/** A store that can have a reranker. */
export interface RerankableStore extends Store {
  /**
   * Makes a store on the same database whose searches have their best hits reordered by `reranker`. Nothing is stored for it.
   * Both may be used; closing either closes the database. Of two rerankers the last one is asked. Errors: `INVALID_ARGUMENT`;
   * `SEARCH_UNAVAILABLE` on a store without search.
   * @example
   * const store = sqlite("chat.db").withReranker((query, passages) => passages.map((each) => Number(each.includes(query))));
   */
  withReranker(reranker: RerankFunction | RerankingModel, options?: RerankerOptions): this;
}
