import type { HistoryMessage, SearchExplanation, SessionMessage } from "@stemma/model";
import type { FoundMessage, HistoryRowStat, RecentHistory, SessionStore, StoredCompaction } from "@stemma/store";

/** Methods that both a session of a store and one of a provider that a user wrote have. */
export type SharedMethods = Omit<
  SessionStore,
  "id" | "importTree" | "skills" | "changeSkills" | "messages" | "rowStats" | "count" | "treePage" | "change" | "writes"
>;

export type Awaitable<T> = T | PromiseLike<T>;

/** One message that a search found. */
export interface SearchResult {
  id: string;
  role: string;
  /** The message's searchable text. */
  content: string;
  /** ISO time. */
  createdAt?: string | undefined;
  sessionId?: string | undefined;
  /** Higher is better; comparable within one search only. */
  score?: number;
  /** The sender's name (`metadata.name`). */
  name?: string;
  /** At most 240 characters of `content` around what matched, which stands between « and ». */
  snippet?: string;
  /** Ids of the compactions whose range holds the message, newest first: `expandCompaction` shows what is under one. */
  coveredBy?: string[];
  /** The messages beside it on its path, oldest first, when `context` asked for them. */
  context?: { before: FoundMessage[]; after: FoundMessage[] };
  /** Why it ranks where it does, when `explain` asked for it. */
  explanation?: SearchExplanation;
  /** The reranker's own score, where it gave one: `threshold` is on this scale. */
  rerankScore?: number;
}

/** Options of a session's reads of its provider where its reader wants times. */
export interface DatedOptions {
  readonly createdAt?: boolean | undefined;
}

/**
 * Where a session keeps its messages. Any object with these methods can stand behind a `Session`; they may be
 * synchronous. Compactions are applied by the session; a provider may apply them itself.
 */
export interface SessionProvider {
  /** With `createdAt: true`, a message without a `createdAt` is given the time when it was stored, if the provider knows it. */
  getMessage(id: string, options?: DatedOptions): Awaitable<SessionMessage | null | undefined>;
  /** From the root to `leafId`, or to the latest leaf. `createdAt` as for `getMessage`. */
  getHistory(leafId?: string | null, options?: DatedOptions): Awaitable<SessionMessage[]>;
  getLatestLeaf(): Awaitable<SessionMessage | null | undefined>;
  /** The messages whose parent is `messageId`. */
  getBranches(messageId: string): Awaitable<SessionMessage[]>;
  /** Messages on the path. */
  getPathLength(leafId?: string | null): Awaitable<number>;
  /**
   * The newest messages of the path whose sizes fit `maxBytes`, and at least `minMessages` of them, oldest first. Without
   * it `session.getRecentHistory()` reads the whole history and cuts it.
   */
  getRecentHistory?(
    leafId: string | null | undefined,
    maxBytes: number,
    minMessages?: number,
  ): Awaitable<RecentHistory>;
  /** The size of each stored message on the path, oldest first. Without it `session.getHistoryRowStats()` gives null. */
  getHistoryRowStats?(leafId?: string | null): Awaitable<HistoryRowStat[]>;
  /** Appends below `parentId`; without one to the latest leaf, with `null` as a root. A known id changes nothing. */
  appendMessage(message: SessionMessage, parentId?: string | null): unknown;
  updateMessage(message: SessionMessage): unknown;
  deleteMessages(messageIds: string[]): unknown;
  clearMessages(): unknown;
  addCompaction(summary: string, fromMessageId: string, toMessageId: string): unknown;
  getCompactions(): Awaitable<StoredCompaction[]>;
  /** Without it `session.search()` refuses. */
  searchMessages?(query: string, limit?: number): Awaitable<SearchResult[]>;
}

export interface AppendedMessage<M extends SessionMessage = HistoryMessage> {
  /** False when a message with this id was there already, or is one of the session's own summaries. */
  readonly inserted: boolean;
  /** The stored form. */
  readonly message: M;
}

/** How `Session.getHistory` reads. */
export type ReadHistoryOptions = Omit<HistoryOptions, "leafId" | "newestFirst" | "after">;

/** How `Session.history` reads. */
export interface HistoryOptions {
  /** The last message of the path; null and nothing are the active leaf. */
  leafId?: string | null | undefined;
  newestFirst?: boolean | undefined;
  /** Begins behind this message, in the direction of reading; it is one of those that would be read. Unknown: `MESSAGE_NOT_FOUND`. */
  after?: string | undefined;
  onCorrupt?: "skip" | "throw" | undefined;
  /** False: the stored messages in place of summaries. */
  summaries?: boolean | undefined;
  /** True: a message that was stored without a `createdAt` has the time when it was stored as one, as ISO text. */
  createdAt?: boolean | undefined;
}

/** A history from which unreadable rows were left out. */
export type LenientHistory<M extends SessionMessage = HistoryMessage> = M[] & {
  /** Ids of the stored messages that could not be read. Not enumerable. */
  readonly corrupt: readonly string[];
};

/**
 * The methods that a session needs of its store, or of a provider that a user wrote. How skills and imported trees are kept is the
 * store's alone.
 */
export type SessionBackend = SharedMethods & {
  readonly id: string;
  /** Null where nobody can tell. */
  rowStats(leafId?: string): Promise<HistoryRowStat[] | null>;
};
