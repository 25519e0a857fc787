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
  /** Records, which stand beside the messages: checkpoints of adapters, runs, notes of turns, what was learned from. */
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
 * The rest of deleted text in the files of a database. `none`: nothing. `pending`: there may be some, which `scrub`
 * removes. `unknown`: the store cannot rewrite the files; docs/privacy.md says what to do there.
 */
export type Residue = "none" | "pending" | "unknown";

/** When a database is rewritten. */
export interface ScrubOptions {
  /** Only if the database is not larger, in bytes; otherwise nothing happens, and what is left is `pending`. Default: any. */
  readonly maxBytes?: number | undefined;
}

/** The part of a session that goes in one step of `SessionRegistry.prune`. */
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

/** The rows that one step removed. */
export interface Pruned {
  readonly deleted: Partial<RowCounts>;
  /** True when no further step is needed. */
  readonly done: boolean;
}

export interface PruneVersionsRequest extends Pick<PruneRequest, "limit" | "dryRun"> {
  /** How many versions of each block and entry are kept, the newest. At least 1. */
  readonly keep: number;
}

export interface BackupOptions {
  /** Check the copy before it is put in place. Default true. With false, damage is copied, too, without an error. */
  readonly check?: boolean | undefined;
}

export interface BackupReport {
  /** The file that was written. */
  readonly path: string;
  /** Its size. */
  readonly bytes: number;
  /** The report of the copy's check; null without one. */
  readonly check: CheckReport | null;
}

export interface CheckOptions {
  /** Repair what can be repaired. Default false: nothing is written. */
  repair?: boolean | undefined;
  /** Only this session. Default: all of them, and what belongs to none. */
  sessionId?: string | undefined;
}

export interface CheckReport {
  /** True if nothing is damaged, or if all damage was repaired. */
  ok: boolean;
  /** How many rows of each table were looked at. */
  checked: Record<string, number>;
  /** The damage that is or was there. */
  problems: CheckProblem[];
  /** How many of the problems were mended. */
  repaired: number;
}

export interface CheckProblem {
  /** Which rule of the data model does not hold; docs/background/data-model.md lists them. */
  rule: CheckRule;
  /** The table that it is about. */
  table: string;
  /** Null for what belongs to no session, and for the database as a whole. */
  sessionId: string | null;
  /** The id of the message, summary or entry, the label of the block, the key of the record; null where there is none. */
  id: string | null;
  /** The damage, in words. */
  message: string;
  /** True when it is right again: the rows were read anew after they were mended. */
  repaired: boolean;
}

/**
 * `engine`: what the database says of its own file; `session`: a registry row; `place`: a row that stands in no session or in another one;
 * `content`: a message that cannot be read; `fields`: columns that do not say what the content says; `tree`: parents and
 * branches; `totals`: token sums; `summary`: a range of a summary; `media`: what stands outside a message's row; `block`, `entry`,
 * `version`, `record`, `usage`, `index`: the search index; `vector`.
 */
export type CheckRule =
  | "engine"
  | "session"
  | "place"
  | "content"
  | "fields"
  | "tree"
  | "totals"
  | "summary"
  | "media"
  | "block"
  | "entry"
  | "version"
  | "record"
  | "usage"
  | "index"
  | "vector";
