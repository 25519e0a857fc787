import { invalid, reasonOf, StemmaError, unlessAborted } from "@stemma/model";
import type { Embedder, EmbeddingModel } from "./contract.js";

/** An embedder as given, with what was left open decided. */
export interface ParsedEmbedder {
  readonly id: string;
  /** Null until a vector tells, where it was not given. */
  readonly dimensions: number | null;
  readonly weights: { readonly words: number; readonly vectors: number };
  readonly minSimilarity: number;
  readonly onError: (error: unknown) => void;
  readonly retryDelay: ((failures: number) => number) | undefined;
  /** How many texts `embed` is given at most. */
  batchSize(): Promise<number>;
  /** Vectors of length one, for each text. Errors: `EMBEDDER_FAILED`. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}

const BATCH_SIZE = 64;

/** Reads what `withEmbedder` was given. Errors: `INVALID_ARGUMENT`. */
export function parseEmbedder(given: Embedder | EmbeddingModel): ParsedEmbedder {
  const options: Embedder = isModel(given) ? { embed: given } : given;
  const { embed, minSimilarity = 0, weights: { words = 1, vectors = 1 } = {}, batchSize } = options ?? {};
  const { onError, retryDelay } = options ?? {};
  const model = isModel(embed) ? embed : null;
  const id = options?.id ?? (model === null ? undefined : `${model.provider}/${model.modelId}`);
  const { dimensions } = options ?? {};
  const check = (holds: boolean, message: string): void => {
    if (!holds) throw invalid(message, { id, dimensions, batchSize, minSimilarity });
  };
  check(
    model !== null || typeof embed === "function",
    "embed must be a function, or an embedding model of the AI SDK.",
  );
  check(
    typeof id === "string" && id !== "" && id.isWellFormed() && !id.includes("\0"),
    "id must be a text that names the model.",
  );
  check(
    isCount(dimensions) || (model !== null && dimensions === undefined),
    "dimensions must be a whole number above 0.",
  );
  check(isCount(batchSize) || batchSize === undefined, "batchSize must be a whole number above 0.");
  check(minSimilarity >= -1 && minSimilarity <= 1, "minSimilarity must be a number from -1 to 1.");
  check(retryDelay === undefined || typeof retryDelay === "function", "retryDelay must be a function.");
  check(words >= 0 && vectors >= 0 && Number.isFinite(words + vectors), "weights must be numbers from 0 on.");
  const call = async (texts: string[], signal: AbortSignal): Promise<number[][]> => {
    if (typeof embed === "function") return await embed(texts, { signal });
    return (await (model as EmbeddingModel).doEmbed({ values: texts, abortSignal: signal })).embeddings;
  };
  let length = dimensions ?? null;
  return {
    id: id as string,
    get dimensions() {
      return length;
    },
    weights: { words, vectors },
    minSimilarity,
    onError: onError ?? (() => {}),
    retryDelay,
    batchSize: async () =>
      Math.min(batchSize ?? BATCH_SIZE, (await model?.maxEmbeddingsPerCall) ?? Number.POSITIVE_INFINITY),
    embed: async (texts, signal) => {
      try {
        signal.throwIfAborted();
        const found = await unlessAborted(call([...texts], signal), signal);
        const unit = readVectors(found, texts.length, length);
        length ??= unit[0]?.length ?? null;
        return unit;
      } catch (cause) {
        const why = reasonOf(cause);
        const message = `The embedder "${id}" failed: ${why}`;
        throw new StemmaError("EMBEDDER_FAILED", { id, texts: texts.length }, message, { cause });
      }
    },
  };
}

function isModel(value: unknown): value is EmbeddingModel {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const { specificationVersion, modelId, doEmbed } = value as Partial<EmbeddingModel>;
  return typeof specificationVersion === "string" && typeof modelId === "string" && typeof doEmbed === "function";
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;

// Vectors of length one: their product is the cosine of the angle between them.
function readVectors(found: unknown, count: number, dimensions: number | null): Float32Array[] {
  if (!Array.isArray(found) || found.length !== count) {
    throw new TypeError(`it gave ${Array.isArray(found) ? found.length : "no"} vectors for ${count} texts`);
  }
  const length: unknown = dimensions ?? found[0]?.length;
  return found.map((numbers: ArrayLike<number>) => {
    if (!isCount(length) || numbers?.length !== length) {
      throw new RangeError(`it gave a vector of ${numbers?.length} numbers where ${length} were expected`);
    }
    const vector = Float32Array.from(numbers);
    const size = Math.hypot(...vector);
    if (!Number.isFinite(size)) throw new RangeError("it gave a vector with something that is no finite number");
    return size === 0 ? vector : vector.map((value) => value / size);
  });
}
