import type { ContextSize, PartSource } from "./parts.js";
import type { RecalledMessage, RefreshReason } from "./request.js";

/** What was sent last. */
export interface TurnState {
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** The digest of the prompt. */
  readonly prompt: string;
  /** The id of the newest summary; null without one. */
  readonly summaryId: string | null;
  /** The message that was to be answered; null without one. */
  readonly messageId: string | null;
  /** The last message; null without one. */
  readonly leafId: string | null;
  /** See `outlineOf`. */
  readonly outline: readonly string[];
}

/** Where a request first differs from the one before, so that a provider's cache ends there. */
export interface PrefixBreak {
  /**
   * Bytes that are still the same. In the prompt it is the first byte that differs, as long as this process or the store has the
   * prompt that was sent; elsewhere the beginning of the first piece that differs.
   */
  readonly offset: number;
  /** The piece that differs; null where the request ends earlier than the one before. */
  readonly source: PartSource | null;
  /** The tool's name, the block's folded label, or the message's id. */
  readonly name: string | null;
  /**
   * What changed it: why the prompt was refreshed; `"prompt"` when the program or another process rendered it;
   * `"tools"`; `"branch"` when another branch was chosen; `"edit"` when a message was changed or removed.
   */
  readonly by: RefreshReason | "prompt" | "tools" | "branch" | "edit";
}

/** What was told behind a message, or behind a summary. */
export interface ToldNote {
  readonly messageId: string;
  readonly update: ContextSize;
  /** The folded labels of the blocks that the update tells. */
  readonly labels: readonly string[];
  readonly recall: ContextSize;
  readonly recalled: readonly RecalledMessage[];
}

/** What is kept of a request: sizes and hashes, no texts. */
export interface TurnRecord {
  readonly messageId: string | null;
  readonly leafId: string | null;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  readonly refreshed: false | RefreshReason;
  readonly prefixHash: string;
  readonly size: ContextSize;
  /** Tools and the pieces of the prompt. */
  readonly fixed: readonly (ContextSize & { readonly source: PartSource; readonly name: string })[];
  /** The ids of the visible summaries' messages. */
  readonly summaryIds: readonly string[];
  /** Of the visible messages, summaries included, without what is told behind them. */
  readonly history: ContextSize & { readonly count: number };
  /** What was told behind messages. */
  readonly notes: readonly ToldNote[];
  /** Null when the request begins with all of the one before, or is the first. */
  readonly brokenAt: PrefixBreak | null;
}
