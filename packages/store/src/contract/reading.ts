import type { HistoryMessage, SessionMessage } from "@stemma/model";

export interface ReadOptions {
  /** The message that the path ends with; the active leaf when absent. Unknown: `MESSAGE_NOT_FOUND`. */
  leafId?: string | undefined;
  /** For a stored row that cannot be read: throw `CORRUPT_MESSAGE` (the default), or leave the row out. */
  onCorrupt?: "throw" | "skip" | undefined;
  /**
   * True, the default: the history that the model sees, with summaries in place of the messages that they cover, and unloaded
   * skills emptied. False: the stored messages as they are.
   */
  summaries?: boolean | undefined;
  /** True: a message that was stored without a `createdAt` has the time when it was stored as one, as ISO text. A summary has none. */
  createdAt?: boolean | undefined;
}

export interface StreamOptions extends ReadOptions {
  /** Default: oldest first. */
  newestFirst?: boolean | undefined;
  /** Begins behind this message, in the direction of reading. The read must show it: under a summary, it is the id of the summary. */
  after?: string | undefined;
  /** How many messages are read at once at first, at most 64: for whoever reads so many, and no more. Default 32. */
  firstPage?: number | undefined;
}

export interface TreePageOptions {
  /** Only messages that were written before this one. Default: from the newest on. */
  readonly after?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
}

export interface TreePage {
  readonly nodes: TreeNode[];
  /** Pass it as `after` to get the page behind this one; null when there is none. */
  readonly next: string | null;
}

export interface PathRead {
  readonly messages: SessionMessage[];
  /** The ids of the rows that were left out. */
  readonly corrupt: readonly string[];
}

export interface RecentHistory {
  /** Oldest first. */
  messages: HistoryMessage[];
  /** True when older messages were left out. */
  truncated: boolean;
  /** Sum of the sizes of `messages` as JSON, in bytes of UTF-8. */
  totalContentBytes: number;
}

/** The size of a stored message. */
export interface HistoryRowStat {
  id: string;
  role: string;
  /** Its stored size with its media, in bytes of UTF-8. */
  bytes: number;
}

/** A message's place in the tree, without its content. */
export interface TreeNode {
  readonly id: string;
  readonly parentId: string | null;
  readonly role: string;
  /** ISO time: the message's own `createdAt`, else when it was stored. */
  readonly createdAt: string;
  /** The first characters of the searchable text. */
  readonly preview: string;
}

/** A message with its place. */
export interface StoredMessage {
  readonly message: SessionMessage;
  readonly parentId: string | null;
  /** ISO time: the message's own `createdAt`, else when it was stored. */
  readonly createdAt: string;
  /** ISO time. */
  readonly storedAt: string;
}
