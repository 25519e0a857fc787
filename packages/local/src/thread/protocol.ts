import type { ErrorCode } from "@stemma/model";

/** What a thread is made with: the model, and where to find it. */
export interface ModelSource {
  /** The file of `@huggingface/transformers` that `require` loads. */
  readonly transformers: string;
  /** The name of a model on the hub, or the path of a folder. */
  readonly model: string;
  readonly isFolder: boolean;
  /** Where models of the hub are stored. */
  readonly cache: string;
  /** The name of a precision, and the file that holds the weights so. */
  readonly dtype: string;
  readonly file: string;
  readonly pooling: "mean" | "cls";
}

/** What a thread tells of its model. */
export interface ModelInfo {
  /** The first characters of the digest of its weights. */
  readonly digest: string;
  /** How many numbers a vector has; null for a cross-encoder, which makes none. */
  readonly dimensions: number | null;
}

/** What a thread is asked; a `deadline` is a time of `sharedClock`. */
export type ThreadTask =
  | { readonly query: string; readonly texts: readonly string[]; readonly deadline: number }
  | { readonly texts: readonly string[] };

export type ThreadRequest = ThreadTask & { readonly id: number };

/** A request, or the id of one that nobody waits for any more. */
export type ToThread = ThreadRequest | number;

/** The id of the answer that a thread gives by itself once its model is loaded. */
export const LOADED = 0;

export type FromThread =
  | { readonly id: typeof LOADED; readonly info: ModelInfo }
  /** A score for each of the first passages, or the vectors of all texts, one after the other. */
  | { readonly id: number; readonly numbers: Float32Array }
  | { readonly id: number; readonly failure: { readonly code: ErrorCode; readonly message: string } };

/** Now, by a clock that all threads of a process share, in milliseconds. */
export function sharedClock(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
