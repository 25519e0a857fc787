import type { MemoryOwner, StoredCompaction } from "../../storage/contract.js";

/** A block or an entry to which something was written that came of a message. */
export interface RevertedText {
  readonly owner: MemoryOwner;
  readonly label: string;
  /** The versions that came of the message, oldest first. */
  readonly versions: readonly number[];
  /** The text before it is undone; null for an entry that is not there. */
  readonly before: string | null;
  /** The text when it is undone; null for an entry that is not there then. What others wrote later is in it. */
  readonly after: string | null;
  /** False where it stays as it is: others changed the same lines later, or the version before is kept no longer. */
  readonly isUndone: boolean;
}

export interface RevertedEntry extends RevertedText {
  readonly key: string;
}

/** What came of a message, and was undone. */
export interface Reverted {
  readonly blocks: readonly RevertedText[];
  readonly entries: readonly RevertedEntry[];
  /** Summaries of it, that were taken back: oldest first. */
  readonly compactions: readonly StoredCompaction[];
}
