/** Which usage is summed up: whatever is left out does not narrow it. */
export interface UsageRequest {
  readonly by: "day" | "model" | "session";
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  /** The first day, as `2026-11-22`. */
  readonly from?: string | undefined;
  /** The last day. */
  readonly to?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

/** What a session used on one day of one model. */
export interface UsageRow extends Usage {
  /** In UTC, as `2026-11-22`. */
  readonly day: string;
  /** "" where it is not known. */
  readonly model: string;
  readonly requests: number;
}

export interface UsageSum extends Usage {
  /** The day, the model ("" where it is not known), or the session's id. */
  readonly name: string;
  readonly requests: number;
}

/** Which compactions are summed up: whatever is left out does not narrow it. */
export interface CompactionSumRequest extends Omit<UsageRequest, "by"> {
  readonly by: "day" | "session" | "compaction";
}

/** The size of what compactions cover, and of their summaries, in estimated tokens. */
export interface CompactionSum {
  /** The day on which they were made, in UTC, the session's id, or the compaction's. */
  readonly name: string;
  readonly compactions: number;
  /** The covered messages, as a model was shown them when the compactions were made. */
  readonly tokensBefore: number;
  /** The summaries. */
  readonly tokensAfter: number;
}
