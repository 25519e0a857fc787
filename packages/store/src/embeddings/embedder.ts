import {
  assertArgument,
  check,
  defineOptions,
  isStorableText,
  reasonOf,
  StemmaError,
  unlessAborted,
} from "@stemma/model";
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

const from0 = check.rule<number>("a number from 0 on", (value) => value >= 0 && value < Number.POSITIVE_INFINITY);
const EMBEDDER = defineOptions<Embedder>({
  embed: check.required(
    check.rule(
      "a function, or an embedding model of the AI SDK",
      (embed: unknown) => typeof embed === "function" || isModel(embed),
    ),
  ),
  id: check.rule("a text that names the model", (id) => typeof id === "string" && id !== "" && isStorableText(id)),
  dimensions: check.whole(1),
  weights: check.nested(defineOptions<NonNullable<Embedder["weights"]>>({ words: from0, vectors: from0 })),
  minSimilarity: check.rule("a number from -1 to 1", (value) => value >= -1 && value <= 1),
  batchSize: check.whole(1),
  onError: check.callable,
  retryDelay: check.callable,
});

/** Reads the argument of `withEmbedder`. Errors: `INVALID_ARGUMENT`. */
export function parseEmbedder(embedder: Embedder | EmbeddingModel): ParsedEmbedder {
  const options: Embedder = isModel(embedder) ? { embed: embedder } : embedder;
  EMBEDDER.assert(options, "withEmbedder()");
  const { embed, minSimilarity = 0, weights: { words = 1, vectors = 1 } = {}, batchSize, dimensions } = options;
  const { onError, retryDelay } = options;
  const model = isModel(embed) ? embed : null;
  const id = options.id ?? (model === null ? undefined : `${model.provider}/${model.modelId}`);
  // A model of the AI SDK brings both.
  assertArgument(EMBEDDER.checks.id, id, "The id of withEmbedder()");
  if (model === null) assertArgument(EMBEDDER.checks.dimensions, dimensions, "The dimensions of withEmbedder()");
  const call = async (texts: string[], signal: AbortSignal): Promise<number[][]> => {
    if (typeof embed === "function") return await embed(texts, { signal });
    return (await (model as EmbeddingModel).doEmbed({ values: texts, abortSignal: signal })).embeddings;
  };
  let length = dimensions ?? null;
  return {
    id,
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
