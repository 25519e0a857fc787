// One class, because the documents give it these methods: each checks its arguments and hands over to what does the work
// (`writes`, `backend`, `context`, `turns`, `compactor`). `configure.ts` says what a builder method changes.
import type { CompactFunction, CompactResult } from "@stemma/model";
import {
  assertArgument,
  assertFunction,
  assertOptions,
  assertText,
  check,
  givenMessage,
  givenMessages,
  type HistoryMessage,
  invalid,
  isSummaryMessage,
  kindOf,
  type SessionMessage,
  StemmaError,
  SUMMARY_ID_PREFIX,
} from "@stemma/model";
import type {
  AppendMessageOptions,
  HistoryRowStat,
  RecentHistory,
  SearchHit,
  StoredCompaction,
  StoredVersion,
  TreeNode,
} from "@stemma/store";
import {
  BLOCK,
  type BlockSchema,
  type ContextBlock,
  type ContextBlockOptions,
  type ContextConfig,
  type ValueOfSchema,
} from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";
import type { SessionContext } from "../context/session-context.js";
import type { LearnFunction, TitleFunction } from "../learning/learn.js";
import { createExpandSummaryTool } from "../tools/expand-summary.js";
import type { SessionTools } from "../tools/tool.js";
import {
  APPEND,
  DATED,
  HISTORY,
  LEAF,
  PARENT,
  READ,
  RECENT,
  REPLACE,
  REVERT,
  SET_LEAF,
  TURNS,
  VERSION,
} from "./arguments.js";
import type { CompactionErrorHandler } from "./compaction/compactor.js";
import { compactionConfig, configOf, learningConfig, thresholdConfig } from "./configure.js";
import { SessionCore } from "./core.js";
import type { SessionListener } from "./events.js";
import { isSessionProvider, providerFor, providerForUser, sessionIdOf } from "./host.js";
import type {
  DocumentBlockOptions,
  DocumentOf,
  HasDocument,
  HasTools,
  ProvidedBlockOptions,
  ToolsFor,
  ToolsOf,
  WiredBlockOptions,
} from "./known-tools.js";
import type {
  CompactAfterOptions,
  OnCompactionOptions,
  OnLearningOptions,
  SessionConfig,
  SessionOptions,
} from "./options.js";
import type {
  AppendedMessage,
  HistoryOptions,
  LenientHistory,
  ReadHistoryOptions,
  SearchResult,
  SessionProvider,
} from "./own-provider/provider.js";
import { AgentSessionProvider } from "./own-provider/store-session-provider.js";
import { blockPlaces, recallFrom } from "./recall/recall.js";
import { RECALL, type RecallOptions, type Recollection, userOfRecall } from "./recall/recall-options.js";
import { SEARCH_GROUPS, type SearchGroup, type SearchGroupsOptions, searchGroups } from "./search-groups.js";
import {
  SEARCH_PAGE,
  type SearchOptions,
  type SearchPage,
  type SearchPageOptions,
  searchPage,
  searchRequest,
} from "./search-options.js";
import type { ContextExplanation } from "./turn/explain.js";
import type { TurnPage, TurnPageOptions } from "./turn/log.js";
import { PREPARE_TURN, type PreparedTurn, type PrepareTurnOptions, type TurnRequest } from "./turn/request.js";
import type { Reverted } from "./undo/revert-from.js";

/** Makes a session whose rows were deleted start afresh, for whoever holds it. */
export let resetSession: (session: Session) => void;

/** True for a session of this copy of the package: nothing stands behind another one. */
export let isSession: (value: unknown) => value is Session;

/** The parts of a session, for the layers above it. Using it starts the session. */
export let coreOf: (
  session: Session,
) => Pick<SessionCore, "context" | "events" | "learner" | "records" | "store" | "together">;

/**
 * One conversation: a tree of messages with summaries over it, context blocks, and the system prompt and tools made of the
 * blocks. Configure it by chaining. The first other call starts it; a builder call after that fails with
 * `SESSION_STARTED`. Every call that writes is all or nothing. Calls on a session take effect in the order in which you
 * make them, awaited or not, on whichever object: a read sees what was written before it. Functions that you pass to it
 * may call it and wait. Every method fails with `INVALID_ARGUMENT` for an argument of a wrong type, and can fail as its
 * store does: `STORE_CLOSED`, `STORE_LOCKED`, `STORE_REPLACED`, `STORE_FAILED`, `CONNECTION_LOST`, `MIGRATION_REQUIRED`.
 */
export class Session {
  #provider: SessionProvider;
  #sessionId: string;
  #config: SessionConfig;
  readonly #blocks: Map<string, ContextConfig>;
  #core: SessionCore | null = null;

  static {
    resetSession = (session) => session.#core?.reset();
    isSession = (value): value is Session => typeof value === "object" && value !== null && #core in value;
    coreOf = (session) => session.#started;
  }

  /** A session on a provider, configured by `options` instead of by chaining. Errors: `INVALID_ARGUMENT`. */
  constructor(provider: SessionProvider, options: SessionOptions = {}) {
    if (!isSessionProvider(provider)) {
      throw invalid(
        `new Session() takes a SessionProvider; for a store or an agent call Session.create(). Got ${kindOf(provider)}.`,
      );
    }
    this.#config = configOf(options);
    this.#blocks = new Map(this.#config.context);
    this.#provider = provider;
    this.#sessionId = sessionIdOf(provider) ?? "";
  }

  /**
   * A session on a store, on an agent (any object with a `sql` tagged template) or on a `SessionProvider`. It is the
   * unnamed session unless `forSession` names it. Takes no options. Errors: `STORE_UNSUPPORTED`, `INVALID_ARGUMENT`.
   * @example
   * const session = Session.create(sqlite("chat.db")).forSession("trip").withContext("memory").withCachedPrompt();
   */
  static create(host: unknown): Session;
  static create(host: unknown, options?: unknown): Session {
    if (options !== undefined) {
      throw invalid(
        "Session.create() takes no options. Name the session with forSession(), and configure it with the methods that begin with `with`.",
      );
    }
    return new Session(isSessionProvider(host) ? host : new AgentSessionProvider(host));
  }

  // ── Configuration ──

  /**
   * Names the session. Errors: `SESSION_STARTED`; `SESSION_ID_BOUND` when the provider belongs to another session;
   * `STORE_UNSUPPORTED` when your own provider has no `sessionId`.
   * @example
   * const session = Session.create(store).forSession("trip");
   */
  forSession(sessionId: string): this {
    assertText(sessionId, "The session id of forSession()");
    this.#configure({});
    this.#provider = providerFor(this.#provider, sessionId);
    this.#sessionId = sessionId;
    return this;
  }

  /**
   * Confines the session to a user. The first write makes it that user's if it was nobody's; every call that reads or writes a
   * session of another user fails with `SESSION_OWNED`. Errors: `SESSION_STARTED`, `INVALID_ARGUMENT`, `INVALID_TEXT`;
   * `SESSION_OWNED` when it is confined to another user already; `STORE_UNSUPPORTED` on a `SessionProvider` of your own.
   * @example
   * const session = Session.create(store).forSession("trip").forUser("ada");
   */
  forUser(userId: string): this {
    this.#configure({});
    this.#provider = providerForUser(this.#provider, userId);
    return this;
  }

  /**
   * Adds a block. Without a `provider` it is kept in the session's store, for the session or for whom `scope` says, and the
   * model may write it. If the label was added before, these options replace the earlier ones and the block keeps its place.
   * Errors: `SESSION_STARTED`, `INVALID_ARGUMENT`; at the first use `INVALID_LABEL`, `DUPLICATE_LABEL`,
   * `PROVIDER_REQUIRED`, and `USER_REQUIRED` for a user's block in a session of nobody.
   * @example
   * const session = Session.create(store)
   *   .withContext("memory", { description: "Facts about the user", maxTokens: 1000 })
   *   .withContext("house rules", { provider: { get: async () => "Answer briefly." } });
   */
  withContext<Label extends string, Schema extends BlockSchema>(
    label: Label,
    options: DocumentBlockOptions<Schema>,
  ): this & HasTools<"set_context"> & HasDocument<Label, ValueOfSchema<Schema>>;
  withContext(label: string, options?: WiredBlockOptions): this & HasTools<"set_context">;
  withContext<P extends ContextBlockProvider>(
    label: string,
    options: ProvidedBlockOptions<P>,
  ): this & HasTools<ToolsFor<P>>;
  withContext(label: string, options?: ContextBlockOptions): this;
  withContext(label: string, options: ContextBlockOptions = {}): this {
    BLOCK.assertNames(options, "withContext()");
    const configured = this.#configure({ context: this.#blocks });
    this.#blocks.set(label, { ...options, label });
    return configured;
  }

  /**
   * Keeps the frozen system prompt across restarts: in the session's store, or in `provider`.
   * Errors: `SESSION_STARTED`; at the first use `PROVIDER_REQUIRED`, `INVALID_ARGUMENT`.
   * @example
   * const session = Session.create(store).withContext("memory").withCachedPrompt();
   */
  withCachedPrompt(provider?: ContextBlockProvider): this {
    return this.#configure({ cachedPrompt: provider ?? true });
  }

  /**
   * How to compact: `createCompactFunction(…)`, or your own function. If it gives no answer within `timeout` milliseconds
   * (default: two minutes), the compaction fails and a later answer is ignored. Errors: `SESSION_STARTED`;
   * `INVALID_ARGUMENT`, also for a `tailTokenBudget` that is not below the tokens of `compactAfter`.
   * @example
   * const session = Session.create(store)
   *   .onCompaction(createCompactFunction({ summarize: model }))
   *   .compactAfter(50_000);
   */
  onCompaction(compact: CompactFunction, options: OnCompactionOptions = {}): this {
    return this.#configure(compactionConfig(compact, options, this.#config));
  }

  /**
   * Compacts after a write if visible history and prompt have more than `tokenThreshold` tokens by the built-in estimate or
   * `tokenCounter`, and half as many have come since the last compaction. If a compaction fails, the write still succeeds.
   * Errors: as for `onCompaction`.
   * @example
   * const session = Session.create(store)
   *   .onCompaction(createCompactFunction({ summarize: model }))
   *   .compactAfter(50_000);
   */
  compactAfter(tokenThreshold: number, options: CompactAfterOptions = {}): this {
    return this.#configure(thresholdConfig(tokenThreshold, options, this.#config));
  }

  /**
   * Calls `handler` with the error of a failed compaction, whether `compact()` or a write started it. Errors that the
   * handler throws are ignored. Errors: `SESSION_STARTED`, `INVALID_ARGUMENT`.
   */
  onCompactionError(handler: CompactionErrorHandler): this {
    assertFunction(handler, "The argument of onCompactionError()");
    return this.#configure({ onCompactionError: handler });
  }

  /**
   * Learns from the conversation into the session's blocks: `learn`, made by `createLearnFunction(…)` or your own, is called
   * with a compaction, once after the chat was idle, and by `close()`, and never twice for the same messages, in whatever process.
   * The edits are stored together or not at all. Errors: `SESSION_STARTED`, `INVALID_ARGUMENT`; at the first use
   * `STORE_UNSUPPORTED` on a `SessionProvider` of your own.
   */
  onLearning(learn: LearnFunction, options: OnLearningOptions = {}): this {
    return this.#configure(learningConfig(learn, options));
  }

  /**
   * Names the session after its first exchange, if it has no name of its own. Nobody waits for `generate`; its failure is
   * reported to listeners, and it is called again after the next answer, three times in all. Once the session has a name, no process
   * calls it again. Errors: `SESSION_STARTED`, `INVALID_ARGUMENT`; at the first use `STORE_UNSUPPORTED` on a `SessionProvider` of your own.
   */
  withTitle(generate: TitleFunction): this {
    assertFunction(generate, "The argument of withTitle()");
    return this.#configure({ title: generate });
  }

  /** Names the session as `withTitle` does, under the name that a manager has for it. */
  withTitles(generate: TitleFunction): this {
    return this.withTitle(generate);
  }

  /** Adds the tool `expand_summary`, with which the model can read the messages under a summary. Errors: `SESSION_STARTED`. */
  withExpandableSummaries(): this & HasTools<"expand_summary"> {
    return this.#configure({ expandableSummaries: true });
  }

  /** The session's id; "" for the unnamed one. */
  get id(): string {
    return this.#sessionId;
  }

  // ── Messages ──

  /**
   * Appends a message: below the active leaf, below `parentId`, or as a new root when `parentId` is `null`. A known id
   * changes nothing. With `expectedLeaf`, the message is stored only if that is still the active leaf (`null`: if there is
   * none). May compact before it resolves.
   * Errors: `INVALID_MESSAGE`, `INVALID_TEXT`, `MESSAGE_TOO_LARGE`, `PARENT_NOT_FOUND`, `LEAF_MOVED`, `SESSION_LIMIT`.
   * @example
   * const parts = [{ type: "text", text: "Where to?" }];
   * await session.appendMessage({ id: "q1", role: "user", parts });
   * await session.appendMessage({ id: "q2", role: "user", parts }, null); // a root of its own
   */
  async appendMessage<M extends SessionMessage = HistoryMessage>(
    message: unknown,
    parentId?: string | null,
    options: AppendMessageOptions = {},
  ): Promise<AppendedMessage<M>> {
    assertAppend(parentId, options, "appendMessage()");
    const checked = givenMessage(message);
    return this.#started.writes.append<M>(checked, parentId, options);
  }

  /**
   * Appends `message`, which has an id of its own, beside the message `messageId`: below the same parent. It becomes the active
   * leaf; `messageId` and what follows it stay on their branch. A known id changes nothing. May compact before it resolves.
   * Errors: `MESSAGE_NOT_FOUND`; `INVALID_MESSAGE`, also for the same id; those of `appendMessage`.
   */
  async editMessage<M extends SessionMessage = HistoryMessage>(
    messageId: string,
    message: unknown,
  ): Promise<AppendedMessage<M>> {
    assertText(messageId, "The message id of editMessage()");
    const checked = givenMessage(message);
    if (checked.id === messageId) {
      const text = "An edited message needs a new id. To replace a message in place, call updateMessage().";
      throw new StemmaError("INVALID_MESSAGE", { messageId }, text);
    }
    return this.#started.writes.edit<M>(messageId, checked);
  }

  /**
   * Appends messages as one chain, in one atomic write. A message with a known id stays where it is, and the chain continues
   * from it. The session's own summaries are skipped, so you can pass a whole `getHistory()`. Resolves to the inserted ids.
   * Of more than 500 messages none may be changed until the call has settled: they are read while the event loop turns.
   * `expectedLeaf` as for `appendMessage`. Errors as there; then no message is stored.
   * @example
   * await session.appendAll(await other.getHistory());
   */
  async appendAll(
    messages: readonly unknown[],
    parentId?: string | null,
    options: AppendMessageOptions = {},
  ): Promise<string[]> {
    assertAppend(parentId, options, "appendAll()");
    assertArgument(check.list("messages"), messages, "The messages of appendAll()");
    return this.#started.writes.appendAll(givenMessages(messages), parentId, options);
  }

  /**
   * Replaces the content of the message with this id. One of the session's own summaries is skipped.
   * Errors: `MESSAGE_NOT_FOUND`, `INVALID_MESSAGE`, `MESSAGE_TOO_LARGE`.
   * @example
   * const message = await session.getMessage("q1");
   * if (message) await session.updateMessage({ ...message, parts: [{ type: "text", text: "Where to, then?" }] });
   */
  async updateMessage(message: unknown): Promise<void> {
    return this.#started.writes.update(givenMessage(message));
  }

  /**
   * Replaces the content of the message with this id, or appends the message if the id is unknown. One of the session's own
   * summaries is skipped. Resolves to whether the message was inserted. Errors as for `appendMessage`.
   */
  async upsertMessage(message: unknown, parentId?: string | null): Promise<boolean> {
    assertArgument(PARENT, parentId, "A parentId");
    return this.#started.writes.upsert(givenMessage(message), parentId);
  }

  /**
   * Removes messages. The children of a removed message are attached to its parent; if it was the active leaf, its parent
   * becomes that. Unknown ids are ignored. Errors: `INVALID_ARGUMENT`.
   */
  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    assertArgument(check.texts("message ids"), messageIds, "What deleteMessages() takes");
    return this.#started.writes.delete(messageIds);
  }

  /**
   * Removes every message, summary and loaded skill, and keeps the blocks. Refreshes the prompt if one was frozen; if that
   * fails, or takes longer than the `timeout` of `onCompaction` (default: two minutes), the call still succeeds and no prompt
   * is frozen. Errors: those of the store; `PROVIDER_FAILED` and `COMPACTION_TIMEOUT` when a provider of your own keeps the
   * prompt and cannot be told to drop it.
   */
  async clearMessages(): Promise<void> {
    return this.#started.writes.clear();
  }

  /**
   * Makes a message the active leaf: histories end with it, and the next append is attached to it. With `context: "as-of"` the
   * session's own blocks and entries also become what they were when that message was stored, as new versions, in the same
   * write; blocks of the user or of a key stay. Errors: `MESSAGE_NOT_FOUND`; `STORE_UNSUPPORTED` on a `SessionProvider` of your
   * own; with `context` also `VERSION_NOT_FOUND` where a version of that time is kept no longer, and then nothing is changed.
   */
  async setActiveLeaf(messageId: string, options: { context?: "as-of" } = {}): Promise<void> {
    assertText(messageId, "The message id of setActiveLeaf()");
    SET_LEAF.assert(options, "setActiveLeaf()");
    const core = this.#started;
    return options.context === undefined ? core.writes.setActiveLeaf(messageId) : core.rewindTo(messageId);
  }

  /**
   * Makes the newest leaf below a message the active leaf: the message itself where nothing follows it. Resolves to the leaf.
   * Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`; `STORE_UNSUPPORTED` on a `SessionProvider` of your own.
   * @example
   * const siblings = await session.getSiblings("a2");
   * const leaf = await session.selectBranch(siblings[0]?.id ?? "a2");
   */
  async selectBranch<M extends SessionMessage = HistoryMessage>(messageId: string): Promise<M> {
    assertText(messageId, "The message id of selectBranch()");
    return (await this.#started.writes.selectBranch(messageId)) as M;
  }

  // ── Reading ──

  /**
   * The visible history from the root to `leafId`, or to the active leaf if that is null or missing. A summary stands for each
   * compacted range; with `summaries: false` the stored messages do. With `onCorrupt: "skip"`, messages that cannot be read are
   * left out, and `corrupt` of the result lists their ids. With `createdAt: true`, a message that was stored without a `createdAt`
   * has the time when it was stored as one, as ISO text. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
   * @example
   * const history = await session.getHistory();
   * const originals = await session.getHistory(null, { summaries: false });
   */
  getHistory<M extends SessionMessage = HistoryMessage>(
    leafId: string | null | undefined,
    options: ReadHistoryOptions & { onCorrupt: "skip" },
  ): Promise<LenientHistory<M>>;
  getHistory<M extends SessionMessage = HistoryMessage>(
    leafId?: string | null,
    options?: ReadHistoryOptions,
  ): Promise<M[]>;
  async getHistory(leafId?: string | null, options: ReadHistoryOptions = {}): Promise<SessionMessage[]> {
    assertArgument(LEAF, leafId, "A leafId");
    READ.assert(options, "getHistory()");
    const { onCorrupt, summaries, createdAt } = options;
    const { backend } = this.#started;
    const { messages, corrupt } = await backend.path({ leafId: leafId ?? undefined, onCorrupt, summaries, createdAt });
    return onCorrupt === "skip" ? Object.defineProperty(messages, "corrupt", { value: corrupt }) : messages;
  }

  /**
   * The visible history as a stream that keeps one page in memory, oldest first unless `newestFirst`. It sees what was
   * written before this call, whenever you read it. Later edits and deletes show on pages that were not read yet.
   * Errors: `INVALID_ARGUMENT`; while reading `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
   */
  history<M extends SessionMessage = HistoryMessage>(options: HistoryOptions = {}): AsyncIterable<M> {
    HISTORY.assert(options, "history()");
    return this.#started.backend.stream({ ...options, leafId: options.leafId ?? undefined }) as AsyncIterable<M>;
  }

  /**
   * The newest messages of the visible history whose sizes as JSON add up to at most `maxBytes` bytes, oldest first; but at
   * least `minMessages` (default 1) of any size. A number instead of options is `minMessages`. A summary counts as one
   * message. Errors: `INVALID_ARGUMENT`, `CORRUPT_MESSAGE`.
   */
  async getRecentHistory(maxBytes: number, options: number | { minMessages?: number } = {}): Promise<RecentHistory> {
    assertArgument(check.amount("bytes"), maxBytes, "The maxBytes of getRecentHistory()");
    const recent = typeof options === "number" ? { minMessages: options } : options;
    RECENT.assert(recent, "getRecentHistory()");
    return this.#started.backend.recent(maxBytes, { minMessages: recent.minMessages ?? 1 });
  }

  /**
   * The size of each stored message on the active path, oldest first, without reading its content. Messages under a summary
   * are included. Null when the session's provider cannot tell. Errors: only those of the store.
   */
  async getHistoryRowStats(): Promise<HistoryRowStat[] | null> {
    return this.#started.backend.rowStats();
  }

  /**
   * One message as it was stored, or null. `createdAt` as for `getHistory`. Errors: `CORRUPT_MESSAGE`.
   * @example
   * const text = (await session.getMessage("q1"))?.parts.find(({ type }) => type === "text")?.text;
   */
  async getMessage<M extends SessionMessage = HistoryMessage>(
    id: string,
    options: { createdAt?: boolean | undefined } = {},
  ): Promise<M | null> {
    assertText(id, "The id of getMessage()");
    DATED.assert(options, "getMessage()");
    return (await this.#started.backend.message(id, options)) as M | null;
  }

  /**
   * The active leaf's message; null in an empty session. Errors: `CORRUPT_MESSAGE`.
   * @example
   * const isAnswered = (await session.getLatestLeaf())?.role === "assistant";
   */
  async getLatestLeaf<M extends SessionMessage = HistoryMessage>(): Promise<M | null> {
    return (await this.#started.backend.leaf()) as M | null;
  }

  /**
   * The messages whose parent is `messageId`, oldest first. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
   * @example
   * const answers = await session.getBranches("q1");
   */
  async getBranches<M extends SessionMessage = HistoryMessage>(messageId: string): Promise<M[]> {
    assertText(messageId, "The message id of getBranches()");
    return (await this.#started.backend.branches(messageId)) as M[];
  }

  /** The ids of these messages, without reading the messages. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
  async getBranchIds(messageId: string): Promise<string[]> {
    assertText(messageId, "The message id of getBranchIds()");
    return this.#started.backend.branchIds(messageId);
  }

  /** The message that a message is attached to; null for a root. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`. */
  async getParent<M extends SessionMessage = HistoryMessage>(messageId: string): Promise<M | null> {
    assertText(messageId, "The message id of getParent()");
    return (await this.#started.backend.parent(messageId)) as M | null;
  }

  /**
   * The messages that have the same parent as a message, itself among them, in the order in which they were written. Roots are
   * siblings of each other. Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`; `STORE_UNSUPPORTED` for a root on a
   * `SessionProvider` of your own.
   */
  async getSiblings<M extends SessionMessage = HistoryMessage>(messageId: string): Promise<M[]> {
    assertText(messageId, "The message id of getSiblings()");
    return (await this.#started.backend.siblings(messageId)) as M[];
  }

  /**
   * The ids of the siblings of several messages, by the id of each, without reading the messages: what a page of a chat needs to
   * show which messages have other versions. Ids that are unknown or of summaries are left out. Errors as for `getSiblings`, but
   * for `MESSAGE_NOT_FOUND`.
   */
  async getSiblingIds(messageIds: readonly string[]): Promise<Record<string, string[]>> {
    assertArgument(check.texts("message ids"), messageIds, "What getSiblingIds() takes");
    return this.#started.backend.siblingIds(messageIds);
  }

  /**
   * The number of stored messages on the path; summaries are not counted. Errors: `MESSAGE_NOT_FOUND`.
   * @example
   * if ((await session.getPathLength()) > 500) await session.compact();
   */
  async getPathLength(leafId?: string | null): Promise<number> {
    assertArgument(LEAF, leafId, "A leafId");
    return this.#started.backend.length(leafId ?? undefined);
  }

  /**
   * Every message's place in the tree, in the order in which they were written; on a `SessionProvider` of your own those of
   * the active path. Errors: only those of the store.
   */
  async getTree(): Promise<TreeNode[]> {
    return this.#started.backend.tree();
  }

  /**
   * The messages that match the words of `query` best, best first: at most `limit` (default 20), among those that the other
   * options allow. A query has no operators, so no text is an invalid query.
   * Errors: `SEARCH_UNAVAILABLE`, `MESSAGE_NOT_FOUND` for `leafId`, `INVALID_ARGUMENT` for an invalid option.
   * @example
   * const hits = await session.search("ferry to Lisbon", { role: "user", limit: 5 });
   * for (const { id, snippet } of hits) console.log(id, snippet);
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult[]> {
    assertText(query, "The query of search()");
    return this.#started.backend.search(query, searchRequest(options));
  }

  /**
   * Recalls what the user's memory holds about a text: entries of the user, of `keys` and of the scopes that blocks declare, first, then messages of the user's other sessions by
   * exchanges, each cut to its best stretch, and as much as fits `maxTokens`. Of this session's own messages it gives those that a summary
   * covers. A text that is about nothing, as "thanks", recalls nothing. Errors: `USER_REQUIRED`, `SESSION_OWNED`, `STORE_UNSUPPORTED`,
   * `SEARCH_UNAVAILABLE`; `INVALID_ARGUMENT`, also for a threshold without a reranker.
   * @example
   * const { results, text } = await session.recall("Which sauce may Ada eat?", { userId: "ada" });
   */
  async recall(query: string, options: RecallOptions = {}): Promise<Recollection> {
    assertText(query, "The query of recall()");
    RECALL.assert(options, "recall()");
    const sessionId = this.id;
    const { context, store: own } = this.#started;
    const { store, userId } = userOfRecall(own, options, { sessionId });
    const places = blockPlaces(context.live.all);
    const isShown = (hit: SearchHit) => hit.sessionId === sessionId && hit.coveredBy.length === 0;
    return recallFrom(store, { ...options, userId, said: query, sessionId, places, isShown });
  }

  /**
   * Searches as `search` does, page by page: pass the `nextCursor` of a page to get the next one; it is null after the last. Without writes in
   * between, no result comes twice or is left out. Errors as for `search`, and `INVALID_ARGUMENT` for an invalid cursor.
   */
  async searchPage(query: string, options: SearchPageOptions = {}): Promise<SearchPage<SearchResult>> {
    assertText(query, "The query of searchPage()");
    const { backend } = this.#started;
    return searchPage(searchRequest(options, SEARCH_PAGE), options.cursor, (request) => backend.search(query, request));
  }

  /**
   * Searches as `searchPage` does, for exchanges (a user's message with its answer) or sessions instead of messages: groups of results, best
   * group first. `limit` counts groups; the best 2,000 results are grouped. Errors as for `searchPage`.
   * @example
   * const { results } = await session.searchGroups("ferry to Lisbon", { groupBy: "exchange", limit: 5 });
   * for (const { exchange } of results) console.log(exchange?.user?.content, exchange?.answer?.content);
   */
  async searchGroups(query: string, options: SearchGroupsOptions): Promise<SearchPage<SearchGroup<SearchResult>>> {
    assertText(query, "The query of searchGroups()");
    const { backend } = this.#started;
    return searchGroups<SearchResult>(searchRequest(options, SEARCH_GROUPS), options, {
      id: backend.id,
      search: (request) => backend.search(query, request),
      message: (_, id) => backend.message(id, { createdAt: true }),
    });
  }

  // ── Context ──

  /**
   * A block as it was last read; null when there is none. Errors: `CONTEXT_NOT_LOADED` before any asynchronous call of the
   * context, `PROVIDER_FAILED` when the last read failed.
   * @example
   * await session.tools(); // loads the blocks
   * console.log(session.getContextBlock("memory")?.content);
   */
  getContextBlock(label: string): ContextBlock | null {
    assertText(label, "The label of getContextBlock()");
    return this.#started.context.block(label);
  }

  /**
   * A block as it is stored now; null when there is none. Unlike `getContextBlock` it asks the block's provider. The frozen
   * prompt does not change. Errors: `PROVIDER_FAILED`.
   * @example
   * const { content, version } = (await session.readContextBlock("memory")) ?? {};
   */
  async readContextBlock(label: string): Promise<ContextBlock | null> {
    assertText(label, "The label of readContextBlock()");
    return this.#inContext((context) => context.read(label));
  }

  /** All blocks as they were last read, in the order in which they were added. Errors as for `getContextBlock`. */
  getContextBlocks(): ContextBlock[] {
    return this.#started.context.blocks();
  }

  /**
   * Replaces a block's content; with `expectedVersion` only if the block still has that version. Errors: `BLOCK_NOT_FOUND`,
   * `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `BLOCK_CONFLICT`, `INVALID_TEXT`, `MESSAGE_TOO_LARGE`, `PROVIDER_FAILED`.
   * @example
   * const block = await session.readContextBlock("memory");
   * await session.replaceContextBlock("memory", "Likes tea.", { expectedVersion: block?.version ?? 0 });
   */
  async replaceContextBlock(
    label: string,
    content: string,
    options: { expectedVersion?: number } = {},
  ): Promise<ContextBlock> {
    assertText(label, "The label of replaceContextBlock()");
    REPLACE.assert(options, "replaceContextBlock()");
    return this.#inContext((context) => context.replace(label, content, options));
  }

  /**
   * Adds `content` to the end of a block, on a new line: a line break comes before it unless it starts with one or the
   * block is empty. Concurrent appends are all kept. Errors as for `replaceContextBlock`.
   * @example
   * await session.appendContextBlock("memory", "Likes tea.");
   */
  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    assertText(label, "The label of appendContextBlock()");
    return this.#inContext((context) => context.append(label, content));
  }

  /**
   * Reads the value of a block with a `schema`: any field may be missing. Null while it is empty.
   * Errors: `BLOCK_NOT_FOUND`, `BLOCK_INVALID` for a stored text that does not fit, `INVALID_ARGUMENT` for a block without a schema.
   */
  readContextValue<Label extends string>(label: Label): Promise<DocumentOf<this, Label> | null>;
  async readContextValue(label: string): Promise<object | null> {
    assertText(label, "The label of readContextValue()");
    return this.#inContext((context) => context.value(label));
  }

  /**
   * Applies a JSON Merge Patch (RFC 7396) to a block with a `schema`: the fields that it has replace those of the block, null
   * removes one. Patches of several writers are all applied. Errors: `BLOCK_INVALID`, `INVALID_ARGUMENT`, those of
   * `replaceContextBlock`.
   */
  async patchContextBlock(label: string, patch: Readonly<Record<string, unknown>>): Promise<ContextBlock> {
    assertText(label, "The label of patchContextBlock()");
    assertOptions(patch, "patchContextBlock()");
    return this.#inContext((context) => context.patch(label, patch));
  }

  /**
   * The kept versions of a block, the newest first; the present one is among them. For a block that holds entries, `key` names
   * the entry, and `scope` the scope that it is in, where the block has several. Each version says when, by whom and in which session it was written, and which messages and tool call it comes
   * from. Null as content means that an entry was removed. Errors: `BLOCK_NOT_FOUND`, `PROVIDER_FAILED`; `INVALID_ARGUMENT` when
   * the block's provider keeps no versions, and for entries without a `key`.
   */
  async getBlockHistory(label: string, options: { key?: string; scope?: string } = {}): Promise<StoredVersion[]> {
    assertText(label, "The label of getBlockHistory()");
    VERSION.assert(options, "getBlockHistory()");
    return this.#inContext((context) => context.versions(label, options));
  }

  /**
   * Writes an old version of a block, or of the entry `key`, as a new version, so nothing is lost. Resolves to the block.
   * Errors: `VERSION_NOT_FOUND`, `BLOCK_OVER_BUDGET`, `BLOCK_READONLY`, those of `getBlockHistory`.
   */
  async restoreBlock(
    label: string,
    version: number,
    options: { key?: string; scope?: string } = {},
  ): Promise<ContextBlock> {
    assertText(label, "The label of restoreBlock()");
    assertArgument(check.whole(0), version, "The version of restoreBlock()");
    VERSION.assert(options, "restoreBlock()");
    return this.#inContext((context) => context.restore(label, version, options));
  }

  /**
   * Undoes what a message caused: what the model wrote to blocks and entries while it answered the message, what was learned
   * from the message, and the summaries of it. Later changes by others to the same texts stay; if they changed the same lines, or
   * the same fields of a JSON object, `isUndone` is false and the text stays as it is. `messageId` may be a message of an answer,
   * whose tool's result misled the model: then this undoes what the answer wrote from there on. The message itself stays. With
   * `dryRun` nothing is written, and the result says what would happen. The frozen prompt does not change until
   * `refreshSystemPrompt()`; `prepareTurn()` tells the model.
   * Errors: `MESSAGE_NOT_FOUND`; `STORE_UNSUPPORTED` on a `SessionProvider` of your own; `BLOCK_CONFLICT` or `ENTRY_CONFLICT`
   * when others never stop writing.
   */
  async revertFrom(messageId: string, options: { dryRun?: boolean } = {}): Promise<Reverted> {
    assertText(messageId, "The id of revertFrom()");
    REVERT.assert(options, "revertFrom()");
    return this.#inContext(() => this.#started.revertFrom(messageId, options.dryRun === true));
  }

  /**
   * Adds a block while the session is in use. The frozen prompt does not change until `refreshSystemPrompt()`.
   * Errors: `INVALID_LABEL`, `DUPLICATE_LABEL`, `INVALID_ARGUMENT`, `PROVIDER_REQUIRED`, `PROVIDER_FAILED`; then no block
   * was added.
   */
  async addContext(label: string, options: ContextBlockOptions = {}): Promise<ContextBlock> {
    BLOCK.assertNames(options, "addContext()");
    return this.#inContext((context) => context.live.add(label, options));
  }

  /** Removes a block from the session; its stored content stays. False when there is no such block. Errors: `CONTEXT_NOT_LOADED`. */
  removeContext(label: string): boolean {
    assertText(label, "The label of removeContext()");
    return this.#started.context.live.remove(label);
  }

  /**
   * Removes a loaded document from what the model sees, as the tool `unload_context` does. It can be loaded again.
   * False when it is not loaded. Errors: only those of the store.
   */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    assertText(label, "The label of unloadSkill()");
    assertText(key, "The key of unloadSkill()");
    return this.#inContext(async ({ access }) => (await access.skills?.unload(label, key)) ?? false);
  }

  /** The documents that are loaded, each as `label:key`. Errors: only those of the store. */
  async getLoadedSkillKeys(): Promise<Set<string>> {
    const loaded = await this.#inContext(async ({ access }) => (await access.skills?.loaded()) ?? []);
    return new Set(loaded.map(({ label, key }) => `${label}:${key}`));
  }

  /**
   * The system prompt: rendered once, then the same until it is refreshed. Errors: `PROVIDER_FAILED`.
   * @example
   * const system = await session.freezeSystemPrompt();
   */
  async freezeSystemPrompt(): Promise<string> {
    return this.#inContext((context) => context.prompt.freeze());
  }

  /** Reads all blocks, renders the prompt again and freezes it. Errors: `PROVIDER_FAILED`; then the old prompt stays frozen. */
  async refreshSystemPrompt(): Promise<string> {
    return this.#inContext((context) => context.prompt.refresh());
  }

  /**
   * The blocks with `whenChanged: "remind"` that changed since the prompt was frozen, as text for the end of the latest user
   * message, so that the cached prefix does not change. Null when none changed. Errors: `PROVIDER_FAILED`.
   */
  async reminder(): Promise<string | null> {
    return this.#inContext((context) => context.prompt.reminder());
  }

  /**
   * Everything that a request to the model needs: the frozen prompt, the visible history and the tools. The model is told once
   * what changed in the blocks since the prompt was frozen, in a text part after the user's message. The part is stored: it is
   * the same in every later turn, so the provider's cache of the prefix holds. When it costs nothing or is due, the prompt is
   * rendered anew, without these parts; `refreshed` says why. Call it after the user's message was appended. If you repeat the
   * call for a message, you get the same request. Errors: `MESSAGE_NOT_FOUND`, `INVALID_ARGUMENT`, `PROVIDER_FAILED`, `CORRUPT_MESSAGE`.
   * @example
   * const { system, messages, tools } = await session.prepareTurn<UIMessage>();
   * const prompt = await convertToModelMessages(messages);
   * const { text } = await generateText({ model, system, messages: prompt, tools });
   */
  async prepareTurn<M extends SessionMessage = HistoryMessage>(
    options: PrepareTurnOptions = {},
  ): Promise<PreparedTurn<M, ToolsOf<this>>> {
    PREPARE_TURN.assert(options, "prepareTurn()");
    const { turns } = this.#started;
    const { tools, ...request } = await this.#inContext(() => turns.prepare(options, () => this.tools()));
    const update = () => this.#inContext(() => turns.update());
    return { ...(request as TurnRequest<M>), tools: tools as ToolsOf<this>, update };
  }

  /**
   * The pieces of a request to the model: each tool, block, summary and message with its estimated tokens and the reason why it
   * is there, and where the request begins to differ from the one before. With the id of a user's message, it is the latest
   * request that `prepareTurn` made for that message, null for none in the last 30 days. Otherwise it is the next request, with
   * these options. Nothing is changed. Errors: those of `prepareTurn`.
   */
  explainContext(messageId: string): Promise<ContextExplanation | null>;
  explainContext(options?: PrepareTurnOptions): Promise<ContextExplanation>;
  async explainContext(turn: string | PrepareTurnOptions = {}): Promise<ContextExplanation | null> {
    const { turns } = this.#started;
    if (typeof turn === "string") return this.#inContext(() => turns.explainPast(turn));
    PREPARE_TURN.assert(turn, "explainContext()");
    return this.#inContext(() => turns.explainNext(turn, () => this.tools()));
  }

  /**
   * The requests that `prepareTurn` made for messages of the active branch in the last 30 days, newest first: sizes, no texts.
   * A page may hold fewer than `limit`. Errors: `MESSAGE_NOT_FOUND` for `after`, `INVALID_ARGUMENT`.
   */
  async getTurns(options: TurnPageOptions = {}): Promise<TurnPage> {
    TURNS.assert(options, "getTurns()");
    return this.#started.turns.list(options);
  }

  /**
   * The AI SDK tools with which the model reads and writes the blocks. They change only when the set of blocks changes. Errors: `PROVIDER_FAILED`.
   * @example
   * const { text } = await generateText({ model, prompt: "My cat is called Ada.", tools: await session.tools() });
   */
  tools(): Promise<ToolsOf<this>>;
  async tools(): Promise<SessionTools> {
    const { backend, expandableSummaries } = this.#started;
    const tools = await this.#inContext((context) => context.tools());
    if (!expandableSummaries) return tools;
    return {
      ...tools,
      expand_summary: createExpandSummaryTool(
        (id) => backend.originals(id),
        () => backend.compactions(),
      ),
    };
  }

  // ── Compaction ──

  /**
   * Calls the compact function with the visible history to `leafId`, or to the active leaf, stores its summary and refreshes
   * the frozen prompt. If the range begins after the earliest visible summary, it is extended to begin there, so that only
   * one summary remains. Null when nothing was stored: nothing to compact, an empty summary, a summary longer than what it
   * replaces, a range that changed meanwhile, or a failed function. `onCompactionError` and subscribers get its error.
   * Errors: `COMPACTION_NOT_CONFIGURED`, `MESSAGE_NOT_FOUND`, `COMPACTION_INVALID_RANGE`.
   */
  async compact(leafId?: string | null): Promise<CompactResult | null> {
    assertArgument(LEAF, leafId, "A leafId");
    return this.#started.compactor.run(leafId ?? undefined);
  }

  /**
   * Lays a summary over a range of one path. Errors: `COMPACTION_INVALID_RANGE`, `INVALID_TEXT`, `MESSAGE_TOO_LARGE`.
   * @example
   * await session.addCompaction("They chose Lisbon.", "q1", "a3");
   */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    assertText(summary, "The summary of addCompaction()");
    assertText(fromMessageId, "The first message id of addCompaction()");
    assertText(toMessageId, "The second message id of addCompaction()");
    const id = crypto.randomUUID();
    return this.#started.writes.addCompaction({ id, summary, fromMessageId, toMessageId });
  }

  /** Every stored summary of the session, oldest first. Errors: only those of the store. */
  async getCompactions(): Promise<StoredCompaction[]> {
    return this.#started.backend.compactions();
  }

  /** The messages under a summary. `id` is the compaction's or its message's. Errors: `COMPACTION_NOT_FOUND`, `CORRUPT_MESSAGE`. */
  async expandCompaction<M extends SessionMessage = HistoryMessage>(id: string): Promise<M[]> {
    assertText(id, "The id of expandCompaction()");
    return (await this.#started.backend.originals(compactionIdOf(id))) as M[];
  }

  /**
   * Removes a summary: the messages under it show again, or an older summary of them. `id` is the compaction's or its
   * message's. The frozen prompt does not change. Errors: `COMPACTION_NOT_FOUND`; `STORE_UNSUPPORTED` on a `SessionProvider`
   * of your own.
   */
  async removeCompaction(id: string): Promise<void> {
    assertText(id, "The id of removeCompaction()");
    return this.#started.writes.removeCompaction(compactionIdOf(id));
  }

  /**
   * Finishes the work in the background: learns what was not learned yet, if `onLearning()` is configured, and waits for the
   * session's name. The session can still be used, and its store stays open. Listeners are told if something fails. Errors: only
   * those of the store.
   */
  async close(): Promise<void> {
    const core = this.#started;
    await core.store?.migrate();
    await core.finish();
  }

  /** Calls `listener` after each change that is made through this object. Call the result to stop. Errors: `INVALID_ARGUMENT`. */
  subscribe(listener: SessionListener): () => void {
    assertFunction(listener, "The listener of subscribe()");
    return this.#started.events.subscribe(listener);
  }

  get #started(): SessionCore {
    this.#core ??= new SessionCore(this.#provider, this.#sessionId, this.#config);
    return this.#core;
  }

  // Blocks may be known already, or kept by providers that are still there: a closed store is refused all the same. What
  // the call hands to the store comes before what is called next, so it does not wait for that.
  async #inContext<T>(call: (context: SessionContext) => Promise<T>): Promise<T> {
    const core = this.#started;
    const [ready, result] = await Promise.allSettled([core.store?.migrate(), call(core.context)]);
    if (ready.status === "rejected") throw ready.reason;
    if (result.status === "rejected") throw result.reason;
    return result.value;
  }

  #configure(change: Partial<SessionConfig>): this {
    if (this.#core !== null) {
      const message = "Configure a session before its first use.";
      throw new StemmaError("SESSION_STARTED", { sessionId: this.#sessionId }, message);
    }
    this.#config = { ...this.#config, ...change };
    return this;
  }
}

function assertAppend(parentId: unknown, options: AppendMessageOptions, method: string): void {
  assertArgument(PARENT, parentId, "A parentId");
  APPEND.assert(options, method);
}

// A compaction may be named by its message.
function compactionIdOf(id: string): string {
  return isSummaryMessage({ id }) ? id.slice(SUMMARY_ID_PREFIX.length) : id;
}
