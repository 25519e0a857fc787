import type { CompactFunction } from "@stemma/model";
import type { ContextConfig } from "../context/block.js";
import type { ContextBlockProvider, WritableContextProvider } from "../context/provider.js";
import type { TitleFunction } from "../learning/learn.js";
import type { LearnerOptions } from "../learning/learning-run.js";
import type { CompactionErrorHandler } from "./compaction/compactor.js";
import type { TokenCounter } from "./compaction/token-count.js";

/** Options of the direct constructor; the builder methods say the same one by one. */
export interface SessionOptions {
  /** Blocks, in the order in which the prompt shows them. */
  context?: ContextConfig[];
  /** Keeps the frozen system prompt. Without one it lasts as long as the session object. */
  promptStore?: WritableContextProvider;
  tokenCounter?: TokenCounter;
  onCompactionError?: CompactionErrorHandler;
}

export interface OnCompactionOptions {
  /** How long the function may take, in milliseconds. Default: two minutes. `Infinity` waits for ever. */
  timeout?: number | undefined;
}

export interface CompactAfterOptions {
  /** Measures instead of the built-in estimate; gets the whole history at each write. */
  tokenCounter?: TokenCounter | undefined;
  /** How long an automatic compaction may take, in milliseconds. Default: the `timeout` of `onCompaction()`. */
  timeout?: number | undefined;
}

export interface OnLearningOptions {
  /** Milliseconds without a message after which the chat counts as idle. Default 300,000; `Infinity` for never. */
  idleAfter?: number | undefined;
  /** How long the function may take, in milliseconds. Default: two minutes. `Infinity` waits for ever. */
  timeout?: number | undefined;
  /** Labels of the blocks to learn into. Default: all that the session's store keeps and the model may write. */
  blocks?: readonly string[] | undefined;
}

/** Everything a session is configured with before its first use. */
export interface SessionConfig {
  /** The blocks in their order, by label. */
  readonly context: ReadonlyMap<string, ContextConfig>;
  /** `true`: kept in the session's store. */
  readonly cachedPrompt: boolean | ContextBlockProvider;
  readonly compact: CompactFunction | null;
  readonly compactTimeout: number | null;
  readonly threshold: number | null;
  readonly automaticTimeout: number | null;
  readonly tokenCounter: TokenCounter | null;
  readonly onCompactionError: CompactionErrorHandler | null;
  readonly expandableSummaries: boolean;
  readonly learning: LearnerOptions | null;
  readonly title: TitleFunction | null;
}

export const EMPTY_CONFIG: SessionConfig = {
  context: new Map(),
  cachedPrompt: false,
  compact: null,
  compactTimeout: null,
  threshold: null,
  automaticTimeout: null,
  tokenCounter: null,
  onCompactionError: null,
  expandableSummaries: false,
  learning: null,
  title: null,
};
