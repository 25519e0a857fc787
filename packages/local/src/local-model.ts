import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { check, defineOptions, StemmaError } from "@stemma/model";
import type { Embedder, EmbedderOptions } from "@stemma/store";
import { SharedModel } from "./shared-model.js";
import { type ModelSource, sharedClock } from "./thread/protocol.js";

const LIBRARY = "@huggingface/transformers";
/** The model that is used where none is named: Apache-2.0, 23 MB. */
const DEFAULT_MODEL = "Xenova/all-MiniLM-L6-v2";
const HUB = "https://huggingface.co/";
/** Less than the two seconds that a search waits for a reranker. */
const TIME_BUDGET = 1_500;

/** The file of each precision, as the hub names it. */
const FILES = {
  q8: "model_quantized.onnx",
  fp32: "model.onnx",
  fp16: "model_fp16.onnx",
  int8: "model_int8.onnx",
  uint8: "model_uint8.onnx",
  q4: "model_q4.onnx",
} as const;

/** How exactly the weights of a model are stored: `q8` is 8 bits. */
export type ModelPrecision = keyof typeof FILES;

export interface LocalModelOptions {
  /**
   * The name of a model on the Hugging Face hub, or the path of a folder with `config.json`, `tokenizer.json`,
   * `tokenizer_config.json` and `onnx/`. Default: `Xenova/all-MiniLM-L6-v2`.
   */
  model?: string | undefined;
  /** The precision of the weights, which says which file is loaded. Default `q8`: `onnx/model_quantized.onnx`. */
  dtype?: ModelPrecision | undefined;
  /** How a vector is made of the states of a text's tokens: their mean, or the state of the first one. Default `mean`. */
  pooling?: "mean" | "cls" | undefined;
}

export interface LocalRerankerOptions {
  /**
   * How long one call may take, in milliseconds, waiting for its turn included. Passages for which no time is left get null.
   * Default 1,500, less than the timeout of a search.
   */
  timeBudget?: number | undefined;
}

/** A model in a thread of this process, which reranks and embeds. */
export interface LocalModel {
  /** Names the model and the digest of its weights: the vectors of two models with one id can be compared. */
  readonly id: string;
  /** How many numbers a vector of this model has; null for a cross-encoder, which makes none. */
  readonly dimensions: number | null;
  /**
   * Makes a function that scores passages for a query, higher is better, in their order. A cross-encoder reads both together; any
   * other model compares their tokens (late interaction): for each token of the query the best cosine among those of the
   * passage, and the mean of these, less 0.08 × ln(tokens ÷ 60) for a passage of more than 60. Words that the model does not know
   * count for nothing.
   *
   * Null stands for the last passages when its time is over: only the first ones were scored. Errors: `MODEL_BUSY` when it
   * had time for none; `MODEL_UNAVAILABLE`; the reason of an abort.
   */
  reranker(
    options?: LocalRerankerOptions,
  ): (query: string, passages: string[], options?: { readonly signal?: AbortSignal }) => Promise<(number | null)[]>;
  /**
   * Makes what `withEmbedder` takes. A vector is made of the first 256 tokens of a text. Errors: `MODEL_UNAVAILABLE` for a
   * cross-encoder, which makes no vectors.
   */
  embedder(options?: EmbedderOptions): Embedder;
  /** Lets go of the model. Its thread ends with the last one that uses it; a program that goes on need not call this. */
  close(): Promise<void>;
}

const OPTIONS = defineOptions<LocalModelOptions>({
  model: check.rule(
    "the name of a model, or the path of a folder",
    (model) => typeof model === "string" && model !== "",
  ),
  dtype: check.oneOf(...(Object.keys(FILES) as ModelPrecision[])),
  pooling: check.oneOf("mean", "cls"),
});
const RERANKER = defineOptions<LocalRerankerOptions>({ timeBudget: check.positive("milliseconds") });

/**
 * Loads a small model into a thread of this process, where it holds up nobody. A process has one thread for a model, however
 * often this is called. It needs `@huggingface/transformers`, and Node.
 *
 * A model of the hub is fetched once, into `stemma/models` in the user's cache (`XDG_CACHE_HOME`, else `~/.cache`), from
 * huggingface.co or `HF_ENDPOINT`; a folder needs no network. A folder that changes later changes nothing until the process ends.
 * Errors: `DRIVER_MISSING` where the package is not installed; `MODEL_UNAVAILABLE` for a model that cannot be fetched, read or
 * used; `INVALID_ARGUMENT`.
 *
 * @example
 * const model = await localModel();
 * const store = sqlite("chat.db").withReranker(model.reranker());
 */
export async function localModel(options: LocalModelOptions = {}): Promise<LocalModel> {
  OPTIONS.assert(options, "localModel()");
  const source = sourceOf(options);
  const shared = await SharedModel.open(source);
  const { digest, dimensions } = shared.info;
  const pooled = source.pooling === "mean" ? "" : `-${source.pooling}`;
  const id = `local/${basename(source.model)}${pooled}@${digest}`;
  let isClosed = false;
  const assertOpen = () => {
    if (!isClosed) return;
    throw new StemmaError("MODEL_UNAVAILABLE", { id }, `The local model "${id}" was closed. Call localModel() again.`);
  };
  return {
    id,
    dimensions,
    reranker: (options = {}) => {
      RERANKER.assert(options, "reranker()");
      const { timeBudget = TIME_BUDGET } = options;
      return async (query, passages, { signal } = {}) => {
        assertOpen();
        const deadline = sharedClock() + timeBudget;
        const numbers = await shared.run({ query, texts: passages, deadline }, signal);
        return passages.map((_, index) => numbers[index] ?? null);
      };
    },
    embedder: (options = {}) => {
      if (dimensions === null) {
        const message = `The model "${id}" is a cross-encoder, which makes no vectors: use its reranker().`;
        throw new StemmaError("MODEL_UNAVAILABLE", { id }, message);
      }
      const embed = async (texts: string[], { signal }: { readonly signal: AbortSignal }) => {
        assertOpen();
        const numbers = await shared.run({ texts }, signal);
        return texts.map((_, index) => Array.from(numbers.subarray(index * dimensions, (index + 1) * dimensions)));
      };
      return { ...options, embed, id, dimensions };
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await shared.close();
    },
  };
}

function sourceOf({ model = DEFAULT_MODEL, dtype = "q8", pooling = "mean" }: LocalModelOptions): ModelSource {
  const isFolder = statSync(model, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isFolder && !/^[\w.-]+\/[\w.-]+$/.test(model)) {
    const message = `There is no folder "${model}". Name one that holds a model, or a model of the hub, such as ${DEFAULT_MODEL}.`;
    throw new StemmaError("MODEL_UNAVAILABLE", { model }, message);
  }
  return {
    transformers: findLibrary(),
    model: isFolder ? resolve(model) : model,
    isFolder,
    hub: process.env.HF_ENDPOINT || HUB,
    cache: join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "stemma", "models"),
    dtype,
    file: `onnx/${FILES[dtype]}`,
    pooling,
  };
}

function findLibrary(): string {
  try {
    return createRequire(import.meta.url).resolve(LIBRARY);
  } catch (cause) {
    const message = `To use a local model, run: npm install ${LIBRARY}@3`;
    throw new StemmaError("DRIVER_MISSING", { package: LIBRARY }, message, { cause });
  }
}
