/** How many rows a store has, or had, of each kind. */
export interface RowCounts {
  readonly sessions: number;
  /** Of all branches. */
  readonly messages: number;
  /** Branches after a session's first. */
  readonly branches: number;
  readonly summaries: number;
  /** Media and large contents that stand outside their messages, each once. */
  readonly media: number;
  /** Frozen prompts. */
  readonly prompts: number;
  readonly blocks: number;
  readonly entries: number;
  /** Versions of blocks and entries, the present ones among them. */
  readonly versions: number;
  /** What runs beside the messages: checkpoints of adapters, runs, notes of turns, what was learned from. */
  readonly records: number;
  /** Days and models of which usage is counted. */
  readonly usage: number;
  readonly vectors: number;
  /** Messages and entries that the search index knows. */
  readonly indexed: number;
}

/** The rows that a deletion removed, and those that are left, read back in the same transaction. */
export interface Erased {
  readonly deleted: RowCounts;
  /** All 0, unless the store is damaged. */
  readonly remaining: RowCounts;
}

/**
 * What is left of deleted text in the files of a database. `none`: nothing. `pending`: there may be some, which `scrub`
 * removes. `unknown`: the store cannot rewrite the files; docs/erasing.md says what to do there.
 */
export type Residue = "none" | "pending" | "unknown";

/** When a database is rewritten. */
export interface ScrubOptions {
  /** Only if the database is not larger, in bytes; otherwise nothing happens, and what is left is `pending`. Default: any. */
  readonly maxBytes?: number | undefined;
}

/** What a session loses in one step of `SessionRegistry.prune`. */
export interface PruneRequest {
  /** ISO time. A session whose latest change is before it goes as a whole. */
  readonly changedBefore?: string | undefined;
  /**
   * Of a session that stays: how many messages are kept, of all branches, the newest. The active leaf, and whatever was
   * written after it, stays too.
   */
  readonly keepMessages?: number | undefined;
  /** About how many rows a step removes; large messages count as several. Below 2 it is one message. */
  readonly limit: number;
  /** Counts what all steps together would remove, and removes nothing. */
  readonly dryRun?: boolean | undefined;
}

/** What one step removed. */
export interface Pruned {
  readonly deleted: Partial<RowCounts>;
  /** True when no further step is needed. */
  readonly done: boolean;
}

export interface PruneVersionsRequest extends Pick<PruneRequest, "limit" | "dryRun"> {
  /** How many versions of each block and entry are kept, the newest. At least 1. */
  readonly keep: number;
}
