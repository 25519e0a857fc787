/** A summary laid over a range of one path. */
export interface StoredCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
  /** ISO time at which the compaction was made. */
  createdAt: string;
}

/** The range as the compactor saw it: a compaction commits only if it would see the same now. */
export interface CompactionGuard {
  /** The message that the history ended with; the id of a visible summary stands for the last message under it. */
  readonly leafId: string;
  /**
   * `digestRange` (`model/digest.ts`) of the range's messages as the history showed them: with summaries in place of the
   * messages that they cover, and unloaded skills emptied. So it differs once a message was edited, deleted or covered.
   */
  readonly digest: string;
}

export interface NewCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
}
