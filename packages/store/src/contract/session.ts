import type { SessionMessage, SkillChange, SkillState } from "@stemma/model";
import type { SearchHit, SearchRequest } from "./found.js";
import type { RememberedVersion } from "./memory.js";
import type {
  HistoryRowStat,
  PathRead,
  ReadOptions,
  RecentHistory,
  StoredMessage,
  StreamOptions,
  TreeNode,
  TreePage,
  TreePageOptions,
} from "./reading.js";
import type {
  AppendMessageOptions,
  AppendResult,
  CompactionGuard,
  ImportedTree,
  MeasureOptions,
  NewCompaction,
  ParentRef,
  StoredCompaction,
  UpsertResult,
} from "./writing.js";

/**
 * One session of a store: its messages and reads of them, its compactions and its loaded skills. A session exists from
 * its first write on; reading one that does not gives nothing. Every writing call is all or nothing.
 */
export interface SessionStore {
  /** "" for the unnamed one. */
  readonly id: string;

  // ── Messages ──

  /**
   * Attaches `messages` as one chain below `parent`; the last one inserted becomes the active leaf. A known id stays
   * where and as it is, and the chain goes on from it. Summaries of this session are skipped. A call that inserts
   * nothing changes nothing.
   * Errors: `PARENT_NOT_FOUND`, `INVALID_MESSAGE`, `INVALID_TEXT`, `MESSAGE_TOO_LARGE`; `LEAF_MOVED` when it would insert
   * something and the active leaf is not `expectedLeaf`.
   */
  append(
    messages: readonly SessionMessage[],
    parent?: ParentRef,
    options?: AppendMessageOptions & MeasureOptions,
  ): Promise<AppendResult>;
  /** Attaches `message` to the parent of message `id`, and makes it the active leaf. Errors: `MESSAGE_NOT_FOUND` for `id`, and those of `append`. */
  appendSibling(id: string, message: SessionMessage): Promise<AppendResult>;
  /** Replaces a message's content in place. A summary of this session is skipped. Errors: `MESSAGE_NOT_FOUND`, and those of a message. */
  update(message: SessionMessage): Promise<void>;
  /** Updates a known id in place, else appends below `parent`. A summary of this session is skipped. Errors: as for `append`. */
  upsert(message: SessionMessage, parent?: ParentRef, options?: MeasureOptions): Promise<UpsertResult>;
  /** Removes messages; children move to the parent, compactions shrink, a deleted leaf moves to its parent. Unknown ids are ignored. Resolves to the ids removed. */
  delete(ids: readonly string[]): Promise<string[]>;
  /**
   * Removes every message, compaction and loaded-skill state, and the frozen prompt; keeps the registry row and the blocks.
   * Resolves to whether a prompt was frozen.
   */
  clear(): Promise<boolean>;
  /**
   * Writes a whole tree, each message below its own parent, with its compactions, active leaf, registry entry and usage.
   * Whatever is stored already stays as it is.
   * Errors: `PARENT_NOT_FOUND`, `COMPACTION_INVALID_RANGE`, `MESSAGE_NOT_FOUND`, and those of a message.
   */
  importTree(tree: ImportedTree): Promise<{ inserted: number }>;
  /**
   * Makes a message the one that the next append continues from; with null, the next message is a new root, and until then
   * the history is empty. Errors: `MESSAGE_NOT_FOUND`.
   */
  setActiveLeaf(messageId: string | null): Promise<void>;
  /**
   * Makes a message the active leaf. The session's own blocks and entries become what they were when it was stored, as new
   * versions; the values of entries stay, and so do the entries under the labels of `except` (default: none). Errors: `MESSAGE_NOT_FOUND`, `VERSION_NOT_FOUND` when a version of that time is
   * no longer kept.
   */
  rewindTo(messageId: string, options?: { readonly except?: readonly string[] | undefined }): Promise<void>;
  /** Makes the newest leaf below a message active, which may be that message. Resolves to the leaf. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
  selectBranch(messageId: string): Promise<SessionMessage>;

  // ── Reading ──

  /** One message as stored, or null. `createdAt` as in `ReadOptions`. */
  message(id: string, options?: Pick<ReadOptions, "createdAt">): Promise<SessionMessage | null>;
  /** The active leaf's message; null when the session is empty. */
  leaf(): Promise<SessionMessage | null>;
  /** The messages whose parent is `id`, oldest first. Errors: `MESSAGE_NOT_FOUND`. */
  branches(id: string): Promise<SessionMessage[]>;
  /** The ids of the messages whose parent is `id`, oldest first; their contents are not read. Errors: `MESSAGE_NOT_FOUND`. */
  branchIds(id: string): Promise<string[]>;
  /** The message that a message is attached to; null for a root. Errors: `MESSAGE_NOT_FOUND`. */
  parent(id: string): Promise<SessionMessage | null>;
  /** The messages with the parent of message `id`, itself among them, oldest first; for a root, all roots. Errors: `MESSAGE_NOT_FOUND`. */
  siblings(id: string): Promise<SessionMessage[]>;
  /**
   * For each of `ids` that is known: the ids of the messages with its parent, itself among them, oldest first. Contents are not
   * read, and the number of statements does not grow with the number of messages.
   */
  siblingIds(ids: readonly string[]): Promise<Record<string, string[]>>;
  /** The history from the root to the leaf. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
  path(options?: ReadOptions): Promise<PathRead>;
  /**
   * Streams the path that `path` gives, page by page, never holding more than a page. Reading begins with the call: it sees what was written before,
   * also if the pages are asked for later. Errors: also `MESSAGE_NOT_FOUND` for an `after` that is not visible there.
   */
  stream(options?: StreamOptions): AsyncIterable<SessionMessage>;
  /**
   * The messages that `stream` gives as text, a line of JSON for each, with the lines of a page at once: for whoever sends them on. A message
   * whose row says all of it is given as its row has it. Missing where a store has nothing better than `stream`. Errors: as of `stream`.
   */
  lines?(options?: StreamOptions): AsyncIterable<string>;
  /** The newest messages of the visible history whose sizes as JSON fit `maxBytes`, and at least `minMessages` of them. */
  recent(maxBytes: number, options: ReadOptions & { minMessages: number }): Promise<RecentHistory>;
  /** The size of each stored message on the path, oldest first, without its content; summaries hide nothing. */
  rowStats(leafId?: string): Promise<HistoryRowStat[]>;
  /** Stored messages on the path; summaries are not counted. */
  length(leafId?: string): Promise<number>;
  /** Stored messages of all branches. */
  count(): Promise<number>;
  /** Estimated tokens of the visible history. */
  tokens(leafId?: string): Promise<number>;
  /** Every message's place in the tree, in the order they were written. */
  tree(): Promise<TreeNode[]>;
  /** Lists the tree newest first and page by page. Errors: `MESSAGE_NOT_FOUND` for `after`. */
  treePage(options?: TreePageOptions): Promise<TreePage>;
  /** Every message of every branch as stored, in the order they were written, page by page. Errors: `CORRUPT_MESSAGE`. */
  messages(): AsyncIterable<StoredMessage>;
  /** Ranked messages that match, best first. Errors: `SEARCH_UNAVAILABLE`, `MESSAGE_NOT_FOUND` for `leafId`. */
  search(
    query: string,
    request: Omit<SearchRequest, "sessionId" | "sessionIds" | "userId" | "sessionMetadata">,
  ): Promise<SearchHit[]>;

  // ── Compactions and skills ──

  /** Every compaction, oldest first. */
  compactions(): Promise<StoredCompaction[]>;
  /**
   * Lays a summary over `fromMessageId … toMessageId` (either may be the id of a visible summary, whose range is then included).
   * Errors: `COMPACTION_INVALID_RANGE` for unknown ids, a reversed range or one that is not on one path;
   * `COMPACTION_STALE` when `guard` no longer holds.
   */
  addCompaction(compaction: NewCompaction, guard?: CompactionGuard): Promise<StoredCompaction>;
  /** Removes a compaction: the messages that it covered show again, or older compactions of them. Errors: `COMPACTION_NOT_FOUND`. */
  removeCompaction(compactionId: string): Promise<void>;
  /** The stored messages of a compaction's range, in order. Errors: `COMPACTION_NOT_FOUND`. */
  originals(compactionId: string): Promise<SessionMessage[]>;
  /** Which skills are loaded and unloaded. */
  skills(): Promise<SkillState>;
  /** Notes a load or an unload. Resolves to false when there was nothing to unload. */
  changeSkills(change: SkillChange): Promise<boolean>;

  // ── What becomes of it ──

  /**
   * A text that is another one after each write to the session: its messages, compactions, active leaf, skills, blocks,
   * entries, and its registry entry. One small read, whatever the session's length. Records, and blocks and entries of the user,
   * do not count.
   */
  change(): Promise<string>;
  /** Every version of a block or an entry that was written in this session and comes from message `messageId`, oldest first. */
  writes(messageId: string): Promise<RememberedVersion[]>;
}
