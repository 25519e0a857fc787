import { check, defineOptions, invalid, kindOf, Recent, reasonOf, StemmaError, unlessAborted } from "@stemma/model";
import type { Observer } from "../contract/store.js";
import { report } from "../embeddings/background-worker.js";
import type { RerankerOptions, RerankFunction, RerankingModel } from "./rerankers.js";

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
export class Reranker {
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
