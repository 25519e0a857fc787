import type { ErrorCode } from "@stemma/model";

/** A model, and where to find it. */
export interface ModelSource {
  /** The file of `@huggingface/transformers` that `require` loads. */
  readonly transformers: string;
  /** The name of a model on the hub, or the path of a folder. */
  readonly model: string;
  readonly isFolder: boolean;
  /** Where models that are named are fetched from, and where they are stored. */
  readonly hub: string;
  readonly cache: string;
  /** The name of a precision, and the file that holds the weights so. */
  readonly dtype: string;
  readonly file: string;
  readonly pooling: "mean" | "cls";
}

/** A loaded model, as its thread describes it. */
export interface ModelInfo {
  /** The first characters of the digest of its weights. */
  readonly digest: string;
  /** How many numbers a vector has; null for a cross-encoder, which makes none. */
  readonly dimensions: number | null;
}

/** A request to a model; a `deadline` is a time of `sharedClock`. */
export type ModelTask =
  | { readonly query: string; readonly texts: readonly string[]; readonly deadline: number }
  | { readonly texts: readonly string[] };

/** A model is named by the id of the request that loaded it. */
export type ToThread =
  | { readonly id: number; readonly load: ModelSource }
  | { readonly id: number; readonly model: number; readonly task: ModelTask }
  /** Nobody waits for this request any more. */
  | { readonly drop: number }
  /** Nobody needs this model any more. */
  | { readonly unload: number };

export type FromThread =
  | { readonly id: number; readonly info: ModelInfo }
  /** A score for each of the first passages, or the vectors of all texts, one after the other. */
  | { readonly id: number; readonly numbers: Float32Array }
  | { readonly id: number; readonly failure: { readonly code: ErrorCode; readonly message: string } };

/** Now, by a clock that all threads of a process share, in milliseconds. */
export function sharedClock(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
