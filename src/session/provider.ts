import type { HistoryMessage, SessionMessage } from "../model/message.js";
import type {
  CompactionGuard,
  FoundMessage,
  HistoryRowStat,
  RecentHistory,
  SearchRequest,
  StoredCompaction,
  TreeNode,
  UpsertResult,
} from "../storage/contract.js";

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
}

/**
 * Where a session keeps its messages. Any object with these methods can stand behind a `Session`; they may be
 * synchronous. Overlays are applied by the session; a provider may apply them itself.
 */
export interface SessionProvider {
  getMessage(id: string): Awaitable<SessionMessage | null | undefined>;
  /** From the root to `leafId`, or to the latest leaf. */
  getHistory(leafId?: string | null): Awaitable<SessionMessage[]>;
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

export interface AppendedMessage {
  /** False when a message with this id was there already, or is one of the session's own summaries. */
  readonly inserted: boolean;
  /** The stored form. */
  readonly message: SessionMessage;
}

export interface AppendedMessages {
  /** The ids that were not there before, in order. */
  readonly insertedIds: readonly string[];
  /** The id that a next message would continue from; null in an empty session. */
  readonly lastId: string | null;
  /** Estimated tokens of the visible history up to there; null when it must be measured. */
  readonly visibleTokens: number | null;
  /** Of a call with one message whose id was known: what is stored under that id. */
  readonly stored?: SessionMessage | null | undefined;
}

export interface CompactionRequest {
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
  /** What was summarised: nothing is stored unless the range still says that. */
  readonly expect?: CompactionGuard | undefined;
}

export interface HistoryOptions {
  /** The last message of the path; null and nothing are the active leaf. */
  leafId?: string | null | undefined;
  newestFirst?: boolean | undefined;
  onCorrupt?: "skip" | "throw" | undefined;
}

/** A history from which unreadable rows were left out. */
export type LenientHistory<M extends SessionMessage = HistoryMessage> = M[] & {
  /** Ids of the stored messages that could not be read. Not enumerable. */
  readonly corrupt: readonly string[];
};

/**
 * What a session needs of its provider: the documented methods, and what the session offers beyond them. Calls take effect
 * in the order in which they are made, awaited or not.
 */
export interface SessionBackend {
  /** The session's id; "" for the unnamed one. */
  readonly sessionId: string;
  /** Errors: `STORE_CLOSED`. */
  ready(): Promise<void>;
  message(id: string): Promise<SessionMessage | null>;
  history(leafId: string | undefined, onCorrupt: "skip" | "throw"): Promise<SessionMessage[]>;
  stream(options: HistoryOptions): AsyncIterable<SessionMessage>;
  recent(maxBytes: number, minMessages: number): Promise<RecentHistory>;
  /** Of the active path. Null where nobody can tell. */
  rowStats(): Promise<HistoryRowStat[] | null>;
  leaf(): Promise<SessionMessage | null>;
  branches(messageId: string): Promise<SessionMessage[]>;
  pathLength(leafId: string | undefined): Promise<number>;
  visibleTokens(): Promise<number>;
  tree(): Promise<TreeNode[]>;
  /** Passes over the session's own summaries. */
  append(messages: readonly SessionMessage[], parentId: string | null | undefined): Promise<AppendedMessages>;
  /** The same. */
  upsert(message: SessionMessage, parentId: string | null | undefined): Promise<UpsertResult>;
  update(message: SessionMessage): Promise<void>;
  /** Resolves to the ids removed. */
  delete(ids: readonly string[]): Promise<readonly string[]>;
  /** Drops the frozen prompt that the session's store keeps in the same write. Resolves to whether there was one. */
  clear(): Promise<boolean>;
  setActiveLeaf(id: string): Promise<void>;
  compactions(): Promise<StoredCompaction[]>;
  addCompaction(request: CompactionRequest): Promise<StoredCompaction>;
  originals(compactionId: string): Promise<SessionMessage[]>;
  search(query: string, request: SearchRequest): Promise<SearchResult[]>;
}
