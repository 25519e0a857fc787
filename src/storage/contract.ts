// One file, because an author of a store reads it from the top: everything that a store does, and what each call promises.
import type { EncodedMessage } from "../model/codec.js";
import type { HistoryMessage, SessionMessage } from "../model/message.js";
import type { SearchQuery } from "../model/query.js";
import type { SkillState } from "../model/skills.js";
import type { Queue } from "../queue.js";

/**
 * A store holds many sessions. Every method that writes is all or nothing, and is serialised with the other writers of
 * the same session, whatever process they run in. Calls for one session take effect in the order in which they were made,
 * awaited or not: a read sees the writes made before it, and none made after it. A store that is not SQL implements this interface; a SQL one
 * implements a connection and a dialect (`sql/store.ts`) and gets all of it.
 */
export interface Store {
  /** The engine's name, as errors and test tables show it. */
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  readonly messages: MessageStore;
  readonly history: HistoryStore;
  readonly compactions: CompactionStore;
  readonly sessions: SessionStore;
  readonly blocks: BlockStore;
  readonly entries: EntryStore;
  /**
   * Holds every row of every table against the rules of the data model, and the search index against the messages; see
   * `CheckReport`. With `repair` it mends what it finds, one transaction per session. Missing where
   * `capabilities.check` is false. Errors: `SESSION_NOT_FOUND`.
   */
  check?(options?: CheckOptions): Promise<CheckReport>;
  /** What orders the calls of stores on one client. Missing where two stores have none in common. */
  readonly order?: Queue | undefined;
  /** Creates or upgrades the tables. Also run by the first call that needs them. Idempotent. */
  migrate(): Promise<void>;
  /** Releases the connection. Every later call fails with `STORE_CLOSED`. Idempotent. */
  close(): Promise<void>;
}

/** What a store can do, as data: the conformance suite skips what is false and says so. */
export interface StoreCapabilities {
  /** Messages are indexed, and `history.search` works. */
  readonly search: boolean;
  /** `withEmbedder` gives a store that searches by meaning too (`EmbeddableStore`). */
  readonly embeddings: boolean;
  /** Several statements can be made one atomic write. False only for a bare `sql` object. */
  readonly transactions: boolean;
  /** What is written outlives the process. */
  readonly durable: boolean;
  /** `check` is there. */
  readonly check: boolean;
}

export interface CheckOptions {
  /** Mend what can be mended. Default false: nothing is written. */
  repair?: boolean | undefined;
  /** Only this session. Default: all of them, and what belongs to none. */
  sessionId?: string | undefined;
}

export interface CheckReport {
  /** True when nothing is damaged, or nothing any more. */
  ok: boolean;
  /** How many rows of each table were looked at. */
  checked: Record<string, number>;
  /** What is or was damaged. */
  problems: CheckProblem[];
  /** How many of the problems were mended. */
  repaired: number;
}

export interface CheckProblem {
  /** Which rule of the data model does not hold; docs/stores/checking.md lists them. */
  rule: CheckRule;
  /** The table that it is about. */
  table: string;
  /** Null for what belongs to no session, and for the database as a whole. */
  sessionId: string | null;
  /** The id of the message, summary or entry, the label of the block; null where there is none. */
  id: string | null;
  /** What is wrong, in words. */
  message: string;
  /** True when it is right again: the rows were read anew after they were mended. */
  repaired: boolean;
}

/**
 * `engine`: what the database says of its own file; `session`: a registry row; `place`: a row that stands in no session or in another one;
 * `content`: a message that cannot be read; `fields`: columns that do not say what the content says; `tree`: parents and
 * branches; `totals`: token sums; `summary`: a range of a summary; `media`: what stands outside a message's row; `block`, `entry`,
 * `index`: the search index; `vector`.
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
  | "index"
  | "vector";

/** Where an append attaches: `undefined` the active leaf, `null` a new root, otherwise a message id. */
export type ParentRef = string | null | undefined;

export interface AppendOptions {
  /** Ids of synthetic messages that the caller passed over. One that no summary of the session has: `INVALID_MESSAGE`. */
  readonly summaryIds?: readonly string[] | undefined;
}

export interface AppendResult {
  /** For each message given: whether it was inserted; false when its id was already known. */
  readonly inserted: readonly boolean[];
  /** The id that a next message would continue from: the last one inserted, or the active leaf as it was. Null without one. */
  readonly lastId: string | null;
  /** Estimated tokens of the visible history up to there; null when it must be measured (`history.tokens`). */
  readonly visibleTokens: number | null;
  /** Of a call with one message whose id was known: what is stored under that id. */
  readonly stored?: SessionMessage | null | undefined;
}

export interface UpsertResult {
  /** False when the id was known and its message was updated. */
  readonly inserted: boolean;
  /** Estimated tokens of the visible history; null when it must be measured (`history.tokens`). */
  readonly visibleTokens: number | null;
}

/** A session as a file holds it: parents before their children. */
export interface ImportedTree {
  readonly messages: readonly { readonly message: EncodedMessage; readonly parentId: string | null }[];
  /** Oldest first; one whose id is already stored is left alone. */
  readonly compactions?: readonly (NewCompaction & { readonly createdAt?: string | undefined })[] | undefined;
  readonly activeLeafId?: string | undefined;
  /** The session's registry entry, made when there is none yet. */
  readonly session?: Omit<NewSession, "id"> | undefined;
  /** What the session has used, counted when nothing is counted yet. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number } | undefined;
}

export interface MessageStore {
  /**
   * Attaches `messages` as one chain below `parent`; the last one inserted becomes the active leaf. A known id stays
   * where and as it is, and the chain goes on from it; a call that inserts nothing changes nothing.
   * Errors: `PARENT_NOT_FOUND`, and those of `options`.
   */
  append(
    sessionId: string,
    messages: readonly EncodedMessage[],
    parent: ParentRef,
    options?: AppendOptions,
  ): Promise<AppendResult>;
  /** Replaces a message's content in place. Errors: `MESSAGE_NOT_FOUND`. */
  update(sessionId: string, message: EncodedMessage): Promise<void>;
  /** Updates a known id in place, else appends below `parent`. Errors: `PARENT_NOT_FOUND`. */
  upsert(sessionId: string, message: EncodedMessage, parent: ParentRef): Promise<UpsertResult>;
  /** Removes messages; children move to the parent, overlays shrink, a deleted leaf moves to its parent. Unknown ids are ignored. Resolves to the ids removed. */
  delete(sessionId: string, ids: readonly string[]): Promise<string[]>;
  /**
   * Removes every message, overlay and loaded-skill state of the session, and its frozen prompt; keeps its registry row
   * and its blocks. Resolves to whether a prompt was frozen.
   */
  clear(sessionId: string): Promise<boolean>;
  /**
   * Writes a whole tree, each message below its own parent, with its overlays, active leaf, registry entry and usage. What
   * is known already stays as it is.
   * Errors: `PARENT_NOT_FOUND`, `COMPACTION_INVALID_RANGE`, `MESSAGE_NOT_FOUND`.
   */
  importTree(sessionId: string, tree: ImportedTree): Promise<{ inserted: number }>;
  /** Makes a message the one that the next append continues from. Errors: `MESSAGE_NOT_FOUND`. */
  setActiveLeaf(sessionId: string, messageId: string): Promise<void>;
}

export interface ReadOptions {
  /** The message that the path ends with; the active leaf when absent. Unknown: `MESSAGE_NOT_FOUND`. */
  leafId?: string | undefined;
  /** What to do with a stored row that cannot be read: throw `CORRUPT_MESSAGE` (the default), or hand it to this function and go on. */
  onCorrupt?: ((corrupt: CorruptMessage) => void) | undefined;
}

/** A stored row that could not be read back. */
export interface CorruptMessage {
  readonly id: string;
  readonly error: unknown;
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
  /** What is stored of it, its media included, in bytes of UTF-8. */
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

export interface HistoryStore {
  /** One message as stored, or null. */
  message(sessionId: string, id: string): Promise<SessionMessage | null>;
  /** The active leaf's message; null when the session is empty. */
  leaf(sessionId: string): Promise<SessionMessage | null>;
  /** The messages whose parent is `id`, oldest first. Errors: `MESSAGE_NOT_FOUND`. */
  branches(sessionId: string, id: string): Promise<SessionMessage[]>;
  /** The visible history from the root to the leaf: overlays applied, unloaded skills emptied. */
  path(sessionId: string, options: ReadOptions): Promise<SessionMessage[]>;
  /**
   * The same, page by page, never holding more than a page; oldest first, or newest first. Reading begins with the call:
   * it sees what was written before, also if the pages are asked for later.
   */
  stream(
    sessionId: string,
    options: ReadOptions & { newestFirst?: boolean | undefined },
  ): AsyncIterable<SessionMessage>;
  /** The newest messages of the visible history whose sizes as JSON fit `maxBytes`, and at least `minMessages` of them. */
  recent(sessionId: string, maxBytes: number, options: ReadOptions & { minMessages: number }): Promise<RecentHistory>;
  /** The size of each stored message on the path, oldest first, without its content; overlays hide nothing. */
  rowStats(sessionId: string, leafId?: string): Promise<HistoryRowStat[]>;
  /** Stored messages on the path; overlays are not counted. */
  length(sessionId: string, leafId?: string): Promise<number>;
  /** Estimated tokens of the visible history. */
  tokens(sessionId: string, leafId?: string): Promise<number>;
  /** Every message's place in the tree, in the order they were written. */
  tree(sessionId: string): Promise<TreeNode[]>;
  /** Ranked messages that match, best first. Errors: `SEARCH_UNAVAILABLE`, `MESSAGE_NOT_FOUND` for `leafId`. */
  search(query: SearchQuery, request: SearchRequest): Promise<SearchHit[]>;
}

/** Which messages a search may find, and how many: whatever is left out does not narrow it. */
export interface SearchRequest {
  /** How many hits at most. */
  limit: number;
  /** How many of the best hits to pass over: the whole order is the same for every `limit` and `offset`. */
  offset?: number | undefined;
  sessionId?: string | undefined;
  /** Only these sessions; unknown ids hold nothing. */
  sessionIds?: readonly string[] | undefined;
  role?: string | undefined;
  /** Milliseconds since 1970: not before this time. */
  after?: number | undefined;
  /** Milliseconds since 1970: before this time. */
  before?: number | undefined;
  /** Only what lies on the path to this message of `sessionId`; null is its active leaf. */
  leafId?: string | null | undefined;
  /** Only messages whose metadata has these fields with these values. */
  metadata?: Readonly<Record<string, MetadataValue>> | undefined;
  /** How many messages before and after each hit to give along. */
  context?: number | undefined;
}

export type MetadataValue = string | number | boolean | null;

/** A message as a search shows it. */
export interface FoundMessage {
  id: string;
  role: string;
  /** The sender's name (`metadata.name`), when the message has one. */
  name?: string;
  /** The message's searchable text: its text parts, a line break between them. */
  content: string;
  /** ISO time: the message's own `createdAt`, else when it was stored. */
  createdAt: string;
}

export interface SearchHit extends FoundMessage {
  sessionId: string;
  /** Higher is better; comparable within one query only. */
  score: number;
  /** A piece of `content` around what matched, which stands between « and »; see `markedSnippet`. */
  snippet: string;
  /** Ids of the compactions whose range holds the message, newest first. */
  coveredBy: string[];
  /** The messages beside it on its path, oldest first, when they were asked for. */
  context?: { before: FoundMessage[]; after: FoundMessage[] };
}

/** A summary laid over a range of one path. */
export interface StoredCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
  /** ISO time at which the overlay was made. */
  createdAt: string;
}

/** The range as the compactor saw it: a compaction commits only if it would see the same now. */
export interface CompactionGuard {
  /** The message that the history ended with; the id of a visible summary stands for the last message under it. */
  readonly leafId: string;
  /**
   * `digestRange` (`model/digest.ts`) of the range's messages as the history showed them: summaries in the place of what
   * they cover, unloaded skills emptied. So it differs once one of them was edited, deleted or covered.
   */
  readonly digest: string;
}

export interface CompactionStore {
  /**
   * Lays a summary over `fromMessageId … toMessageId` (either may be the id of a visible summary, whose range is then included).
   * Errors: `COMPACTION_INVALID_RANGE` for unknown ids, a reversed range or one that is not on one path;
   * `COMPACTION_STALE` when `guard` no longer holds.
   */
  add(sessionId: string, overlay: NewCompaction, guard?: CompactionGuard): Promise<StoredCompaction>;
  /** Every overlay of the session, oldest first. */
  list(sessionId: string): Promise<StoredCompaction[]>;
  /** The stored messages of an overlay's range, in order. Errors: `COMPACTION_NOT_FOUND`. */
  originals(sessionId: string, compactionId: string): Promise<SessionMessage[]>;
}

export interface NewCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
}

/** A registered session, as the documents name its fields. Times are ISO text in UTC with milliseconds. */
export interface SessionInfo {
  id: string;
  name: string;
  parent_session_id: string | null;
  model: string | null;
  source: string | null;
  input_tokens: number;
  output_tokens: number;
  estimated_cost: number;
  end_reason: string | null;
  created_at: string;
  /** The latest write to the session or to its registry entry. */
  updated_at: string;
}

export interface NewSession {
  id: string;
  name: string;
  parentSessionId?: string | undefined;
  model?: string | undefined;
  source?: string | undefined;
}

/** A session that goes on with another one. */
export type Continuation = Omit<NewSession, "name"> & { readonly name?: string | undefined };

export interface SessionStore {
  /** Registers a session. An id that is already registered is returned as it is. */
  create(session: NewSession): Promise<SessionInfo>;
  get(id: string): Promise<SessionInfo | null>;
  /** Sessions by latest change, newest first. `cursor` is a page's `nextCursor`; null when there is no further page. */
  list(options: {
    limit?: number | undefined;
    cursor?: string | undefined;
  }): Promise<{ sessions: SessionInfo[]; nextCursor: string | null }>;
  count(): Promise<number>;
  /** Errors: `SESSION_NOT_FOUND`. */
  rename(id: string, name: string): Promise<void>;
  /** Removes the session and everything kept for it: messages, overlays, media, blocks, prompt, entries, index rows. */
  delete(id: string): Promise<void>;
  /** Adds to the session's counters. Errors: `SESSION_NOT_FOUND`. */
  addUsage(id: string, inputTokens: number, outputTokens: number, cost: number): Promise<void>;
  /** Copies the path to `atMessageId` with its overlays, blocks and frozen prompt. Errors: `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `INVALID_ARGUMENT` for an id that is taken. */
  fork(id: string, atMessageId: string, fork: NewSession): Promise<SessionInfo>;
  /** Ends `id` with `end_reason: "compaction"` and creates a continuation that starts with `first`; without a name it has that of `id`. Errors: `SESSION_NOT_FOUND`. */
  split(id: string, first: EncodedMessage, continuation: Continuation): Promise<SessionInfo>;
  /** Reads the loaded-skill state, applies `change` and stores what it returns. `newest` is the number of the newest message, 0 when there is none. Resolves to the new state. */
  updateSkills(id: string, change: (state: SkillState, newest: number) => SkillState): Promise<SkillState>;
  skills(id: string): Promise<SkillState>;
}

/**
 * Names a block: a session's own ("" is the unnamed session, whose blocks are also the shared ones), or its frozen prompt.
 * Two keys are the same block only if all three fields are equal.
 */
export interface BlockKey {
  readonly sessionId: string;
  readonly kind: "block" | "prompt";
  readonly label: string;
  /**
   * Not part of the name: the label under which `agents` kept this block, which is read until the key is written. By default
   * the label with the session's id, as `agents` named what it wired itself.
   */
  readonly upgradedLabel?: string | undefined;
}

/** The key of a session's frozen prompt. No label of a block can name it. */
export function promptKey(sessionId: string): BlockKey {
  return { sessionId, kind: "prompt", label: "" };
}

export interface StoredBlock {
  content: string;
  /** Grows by one with every write. */
  version: number;
}

export interface BlockStore {
  get(key: BlockKey): Promise<StoredBlock | null>;
  /** Replaces the content. `expectedVersion` 0 means "must not exist yet". Errors: `BLOCK_CONFLICT`. */
  set(key: BlockKey, content: string, options?: { expectedVersion?: number | undefined }): Promise<StoredBlock>;
  /** Appends to the content on a new line (see `appendText`), in the store: concurrent appends are all kept. Errors: `BLOCK_OVER_BUDGET` when the result exceeds `maxTokens`. */
  append(key: BlockKey, text: string, options: { maxTokens: number }): Promise<StoredBlock>;
  delete(key: BlockKey): Promise<void>;
}

/** Names a collection of searchable entries. */
export interface EntryScope {
  readonly sessionId: string;
  readonly label: string;
}

export interface StoredEntry {
  key: string;
  content: string;
}

export interface EntryStore {
  count(scope: EntryScope): Promise<number>;
  get(scope: EntryScope, key: string): Promise<StoredEntry | null>;
  /** Writes an entry, in place when the key is known. */
  set(scope: EntryScope, entry: StoredEntry): Promise<void>;
  /** Appends to an entry on a new line (see `appendText`), in the store, creating it when absent. Errors: `BLOCK_OVER_BUDGET`. */
  append(scope: EntryScope, entry: StoredEntry, options: { maxTokens: number }): Promise<StoredEntry>;
  delete(scope: EntryScope, key: string): Promise<void>;
  /** Ranked entries that match, best first. Errors: `SEARCH_UNAVAILABLE`. */
  search(scope: EntryScope, query: SearchQuery, options: { limit: number }): Promise<StoredEntry[]>;
}
