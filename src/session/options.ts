import type { CompactFunction } from "../compaction/compact.js";
import type { ContextConfig } from "../context/block.js";
import type { ContextBlockProvider, WritableContextProvider } from "../context/provider.js";
import type { CompactionErrorHandler, TokenCounter } from "./compactor.js";

/** Options of the direct constructor; the builder methods say the same one by one. */
export interface SessionOptions {
  /** Blocks, in the order in which the prompt shows them. */
  context?: ContextConfig[];
  /** Keeps the frozen system prompt. Without one it lasts as long as the session object. */
  promptStore?: WritableContextProvider;
  tokenCounter?: TokenCounter;
  onCompactionError?: CompactionErrorHandler;
}

export interface CompactAfterOptions {
  /** Measures instead of the built-in estimate; gets the whole history at each write. */
  tokenCounter?: TokenCounter | undefined;
}

/** Everything a session is configured with before its first use. */
export interface SessionConfig {
  readonly context: readonly ContextConfig[];
  /** `true`: kept in the session's store. */
  readonly cachedPrompt: boolean | ContextBlockProvider;
  readonly compact: CompactFunction | null;
  readonly threshold: number | null;
  readonly tokenCounter: TokenCounter | null;
  readonly onCompactionError: CompactionErrorHandler | null;
  readonly expandableSummaries: boolean;
}

export const EMPTY_CONFIG: SessionConfig = {
  context: [],
  cachedPrompt: false,
  compact: null,
  threshold: null,
  tokenCounter: null,
  onCompactionError: null,
  expandableSummaries: false,
};

/** Blocks with one more, in the place of the one with its label when there is one. */
export function withBlock(blocks: readonly ContextConfig[], block: ContextConfig): readonly ContextConfig[] {
  const place = blocks.findIndex(({ label }) => label === block.label);
  return place < 0 ? [...blocks, block] : blocks.with(place, block);
}
