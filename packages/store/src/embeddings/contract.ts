import type { RerankableStore } from "../rerank/rerankers.js";

/** Makes vectors of texts, one for each, in order. `signal` is aborted when no one waits for them any more. */
export type EmbedFunction = (texts: string[], options: { readonly signal: AbortSignal }) => PromiseLike<number[][]>;

/** The part of an embedding model of the AI SDK that is used: those of every provider package fit. */
export interface EmbeddingModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined;
  doEmbed(options: { values: string[]; abortSignal?: AbortSignal }): PromiseLike<{ embeddings: number[][] }>;
}

export interface EmbedderOptions {
  /** How much each ranking counts where the two are put together. Default 1 each. */
  weights?: { readonly words?: number; readonly vectors?: number } | undefined;
  /** Messages and entries are found by their vector when its cosine to the query's is above this, from -1 to 1. Default 0. */
  minSimilarity?: number | undefined;
  /** How many texts one call of the embedder is given at most. Default 64, or what a model of the AI SDK takes. */
  batchSize?: number | undefined;
  /** Told of each failure of the embedder or of the background work (`EMBEDDER_FAILED`, `EMBEDDER_REPLACED`, the store's own). */
  onError?: ((error: unknown) => void) | undefined;
  /**
   * How long to wait after that many failures in a row, in milliseconds. Default: half a second, twice as long after each
   * further failure, and five minutes at most.
   */
  retryDelay?: ((failures: number) => number) | undefined;
}

/**
 * A maker of vectors. `id` names the model: vectors of another `id` or number of dimensions are never compared, and are made
 * anew. A model of the AI SDK brings both.
 */
export type Embedder = EmbedderOptions &
  (
    | { readonly embed: EmbedFunction; readonly id: string; readonly dimensions: number }
    | { readonly embed: EmbeddingModel; readonly id?: string; readonly dimensions?: number }
  );

/** The background work of a store with an embedder. */
export interface Embeddings {
  /** How many messages and entries wait for their vector. */
  backlog(): Promise<number>;
  /**
   * Embeds until none waits. Rejects with `EMBEDDER_FAILED` when the embedder fails three times in a row, or refuses some
   * of the texts; the rest is done, and the work goes on in the background.
   */
  flush(): Promise<void>;
  /** Why the last try failed; null when it did not. */
  readonly lastError: unknown;
}

/** A store whose `search` also finds what is alike in meaning. */
export interface EmbeddedStore extends RerankableStore {
  readonly embeddings: Embeddings;
}

export interface EmbeddableStore extends RerankableStore {
  /**
   * Makes a store on the same database whose messages are embedded in the background and searched by words and by vectors
   * together. Both may be used; closing either closes the database. Errors: `INVALID_ARGUMENT`; `SEARCH_UNAVAILABLE` on a store
   * without search.
   */
  withEmbedder(embedder: Embedder | EmbeddingModel): EmbeddedStore;
}
