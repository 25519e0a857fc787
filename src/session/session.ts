// One class, because the documents give it these methods: each checks its arguments, hands over to what does the work
// (`backend`, `context`, `compactor`) and tells the listeners.
import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { ContextBlock, ContextBlockOptions } from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";
import type { SessionContext } from "../context/session-context.js";
import { StemmaError } from "../errors.js";
import {
  givenMessage,
  type HistoryMessage,
  isSummary,
  isSummaryMessage,
  type SessionMessage,
  SUMMARY_ID_PREFIX,
} from "../model/message.js";
import type { HistoryRowStat, RecentHistory, StoredCompaction, TreeNode } from "../storage/contract.js";
import { createExpandSummaryTool } from "../tools/expand-summary.js";
import type { SessionTools } from "../tools/tool.js";
import { AgentSessionProvider } from "./agent-session-provider.js";
import {
  assertFunction,
  assertList,
  assertOneOf,
  assertOptionalId,
  assertOptions,
  assertText,
  assertTexts,
} from "./arguments.js";
import type { CompactionErrorHandler } from "./compactor.js";
import { createCore, type SessionCore } from "./core.js";
import type { SessionListener } from "./events.js";
import { isSessionProvider, providerFor, sessionIdOf } from "./host.js";
import type { HasTools, ProvidedBlockOptions, ToolsFor, ToolsOf, WiredBlockOptions } from "./known-tools.js";
import {
  type CompactAfterOptions,
  EMPTY_CONFIG,
  type OnCompactionOptions,
  type SessionConfig,
  type SessionOptions,
  withBlock,
} from "./options.js";
import type { AppendedMessage, HistoryOptions, LenientHistory, SearchResult, SessionProvider } from "./provider.js";
import {
  type SearchOptions,
  type SearchPage,
  type SearchPageOptions,
  searchPage,
  searchRequest,
} from "./search-options.js";
import { assertTimeout } from "./time-limit.js";

const PARENT = "A parentId is the id of a message, or null for a new root";
const LEAF = "A leafId is the id of a message, or null for the active leaf";
const ON_CORRUPT = ["skip", "throw", undefined];

/**
 * One conversation: a tree of messages with summaries laid over it, blocks of context, the system prompt and the tools
 * made of them. Configure it by chaining; its first other call starts it, and a builder call after that is
 * `SESSION_STARTED`. Every call that writes is all or nothing. Calls take effect in the order in which they are made,
 * awaited or not, by whichever object for the session: a read sees what was written before it. Functions that you give it
 * may call it, and wait. Any call on a closed store is `STORE_CLOSED`.
 */
export class Session {
  #provider: SessionProvider;
  #sessionId: string;
  #config: SessionConfig;
  #core: SessionCore | null = null;

  /** A session on a provider, with everything else named. Errors: `INVALID_ARGUMENT`. */
  constructor(provider: SessionProvider, options: SessionOptions = {}) {
    if (!isSessionProvider(provider)) {
      const message = "new Session() takes a SessionProvider; for a store or an agent call Session.create().";
      throw new StemmaError("INVALID_ARGUMENT", {}, message);
    }
    assertOptions(options, "new Session()");
    if (options.context !== undefined) assertList(options.context, "context is an array of blocks.");
    this.#provider = provider;
    this.#sessionId = sessionIdOf(provider) ?? "";
    this.#config = {
      ...EMPTY_CONFIG,
      context: (options.context ?? []).reduce(withBlock, EMPTY_CONFIG.context),
      cachedPrompt: options.promptStore ?? false,
      tokenCounter: options.tokenCounter ?? null,
      onCompactionError: options.onCompactionError ?? null,
    };
  }

  /**
   * A session on a store, on an agent (any object with a `sql` tagged template) or on a `SessionProvider`. It is the
   * unnamed session unless `forSession` names it. Errors: `STORE_UNSUPPORTED`.
   */
  static create(host: unknown): Session {
    return new Session(isSessionProvider(host) ? host : new AgentSessionProvider(host));
  }

  // ── Configuration ──

  /**
   * Names the session. Errors: `SESSION_ID_BOUND` when the provider belongs to another one, `STORE_UNSUPPORTED` when a
   * provider that a user wrote does not say to which it belongs.
   */
  forSession(sessionId: string): this {
    assertText(sessionId, "The session id of forSession()");
    this.#configure({});
    this.#provider = providerFor(this.#provider, sessionId);
    this.#sessionId = sessionId;
    return this;
  }

  /**
   * Adds a block. Without a `provider` it is kept in the session's store and the model may write it. A label that is
   * there already gets these options instead, at its place.
   */
  withContext(label: string, options?: WiredBlockOptions): this & HasTools<"set_context">;
  withContext<P extends ContextBlockProvider>(
    label: string,
    options: ProvidedBlockOptions<P>,
  ): this & HasTools<ToolsFor<P>>;
  withContext(label: string, options?: ContextBlockOptions): this;
  withContext(label: string, options: ContextBlockOptions = {}): this {
    assertOptions(options, "withContext()");
    return this.#configure({ context: withBlock(this.#config.context, { ...options, label }) });
  }

  /** Keeps the frozen system prompt across restarts: in the session's store, or in `provider`. */
  withCachedPrompt(provider?: ContextBlockProvider): this {
    return this.#configure({ cachedPrompt: provider ?? true });
  }

  /**
   * How to compact: `createCompactFunction(…)`, or a function of your own. It counts as failed when it gives no answer
   * within `timeout` milliseconds (default: two minutes); a later answer is dropped. Errors: `INVALID_ARGUMENT`.
   */
  onCompaction(compact: CompactFunction, options: OnCompactionOptions = {}): this {
    assertFunction(compact, "The argument of onCompaction()");
    assertOptions(options, "onCompaction()");
    assertTimeout(options.timeout, "onCompaction()");
    return this.#configure({ compact, compactTimeout: options.timeout ?? null });
  }

  /**
   * Compacts after a write that leaves more than `tokenThreshold` tokens of visible history and prompt, as the built-in
   * estimate or `tokenCounter` counts them. Its failure does not fail the write. Errors: `INVALID_ARGUMENT`.
   */
  compactAfter(tokenThreshold: number, options: CompactAfterOptions = {}): this {
    assertOptions(options, "compactAfter()");
    if (options.tokenCounter !== undefined) assertFunction(options.tokenCounter, "tokenCounter");
    if (typeof tokenThreshold !== "number" || !(tokenThreshold > 0)) {
      throw new StemmaError("INVALID_ARGUMENT", { tokenThreshold }, "compactAfter() takes a number of tokens above 0.");
    }
    assertTimeout(options.timeout, "compactAfter()");
    return this.#configure({
      threshold: tokenThreshold,
      automaticTimeout: options.timeout ?? null,
      tokenCounter: options.tokenCounter ?? this.#config.tokenCounter,
    });
  }

  /** Called with what a compaction failed with, whether `compact()` or a write began it. What it throws itself is dropped. */
  onCompactionError(handler: CompactionErrorHandler): this {
    assertFunction(handler, "The argument of onCompactionError()");
    return this.#configure({ onCompactionError: handler });
  }

  /** Adds the tool `expand_summary`, with which the model can read the messages under a summary. */
  withExpandableSummaries(): this & HasTools<"expand_summary"> {
    return this.#configure({ expandableSummaries: true });
  }

  /** The session's id; "" for the unnamed one. */
  get id(): string {
    return this.#sessionId;
  }

  // ── Messages ──

  /**
   * Appends a message: below the active leaf, below `parentId`, or as a new root when that is `null`. A known id changes
   * nothing. Calls made without waiting keep their order. May compact before it resolves.
   * Errors: `INVALID_MESSAGE`, `MESSAGE_TOO_LARGE`, `PARENT_NOT_FOUND`.
   */
  async appendMessage(message: unknown, parentId?: string | null): Promise<AppendedMessage> {
    assertOptionalId(parentId, PARENT);
    const given = givenMessage(message);
    const { insertedIds, stored } = await this.#append([given], parentId);
    const inserted = insertedIds.length > 0;
    if (!inserted && !isSummary(given)) return { inserted, message: stored ?? given };
    return {
      inserted,
      // Made only for whoever looks: nearly nobody does.
      get message() {
        return storedForm(given);
      },
    };
  }

  /**
   * Appends messages as one chain, in one atomic write. A known id stays where it is, and the chain goes on from it; the
   * session's own summaries are passed over, so that a whole `getHistory()` can be given back.
   * Resolves to the ids that were inserted. Errors as for `appendMessage`, and `INVALID_ARGUMENT`; then none is stored.
   */
  async appendAll(messages: readonly unknown[], parentId?: string | null): Promise<string[]> {
    assertOptionalId(parentId, PARENT);
    assertList(messages, "appendAll() takes an array of messages.");
    return [...(await this.#append(messages.map(givenMessage), parentId)).insertedIds];
  }

  /** Replaces the content of the message with this id. Errors: `MESSAGE_NOT_FOUND`, `INVALID_MESSAGE`. */
  async updateMessage(message: unknown): Promise<void> {
    const { backend, events, compactor } = this.#started;
    const given = givenMessage(message);
    await backend.update(given);
    events.emit({ type: "messages", change: "update", ids: [given.id] });
    await compactor.afterChange();
  }

  /**
   * Updates the message with this id in place, or appends it; one of the session's own summaries is passed over.
   * Resolves to whether it was inserted. Errors as for `appendMessage`.
   */
  async upsertMessage(message: unknown, parentId?: string | null): Promise<boolean> {
    assertOptionalId(parentId, PARENT);
    const { backend, events, compactor } = this.#started;
    const given = givenMessage(message);
    const { inserted, visibleTokens } = await backend.upsert(given, parentId);
    if (isSummary(given)) return false;
    events.emit({ type: "messages", change: inserted ? "append" : "update", ids: [given.id] });
    await compactor.afterWrite(visibleTokens);
    return inserted;
  }

  /** Removes messages. What hung below one hangs below its parent; a deleted leaf moves to it. Unknown ids are ignored. */
  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    assertTexts(messageIds, "deleteMessages() takes an array of message ids.");
    const { backend, events, compactor } = this.#started;
    const ids = await backend.delete(messageIds);
    if (ids.length === 0) return;
    events.emit({ type: "messages", change: "delete", ids });
    await compactor.afterChange();
  }

  /**
   * Removes every message, overlay and loaded skill; keeps the blocks, and refreshes the prompt if one was frozen. When that
   * cannot be rendered, no prompt is frozen any more, which does not fail the call.
   */
  async clearMessages(): Promise<void> {
    const { clear, events, compactor } = this.#started;
    await clear();
    events.emit({ type: "messages", change: "clear", ids: [] });
    await compactor.afterChange();
  }

  /** Makes a message the one that histories end with and that the next append continues from. Errors: `MESSAGE_NOT_FOUND`. */
  async setActiveLeaf(messageId: string): Promise<void> {
    assertText(messageId, "The message id of setActiveLeaf()");
    const { backend, events } = this.#started;
    await backend.setActiveLeaf(messageId);
    events.emit({ type: "messages", change: "leaf", ids: [messageId] });
  }

  // ── Reading ──

  /**
   * The visible history from the root to `leafId`, or to the active leaf where that is null or left out: a summary stands for each compacted range.
   * With `onCorrupt: "skip"`, rows that cannot be read are left out and their ids listed in the result's `corrupt`.
   * Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
   */
  getHistory<M extends SessionMessage = HistoryMessage>(
    leafId: string | null | undefined,
    options: { onCorrupt: "skip" },
  ): Promise<LenientHistory<M>>;
  getHistory<M extends SessionMessage = HistoryMessage>(
    leafId?: string | null,
    options?: { onCorrupt?: "skip" | "throw" },
  ): Promise<M[]>;
  async getHistory(leafId?: string | null, options: { onCorrupt?: "skip" | "throw" } = {}): Promise<SessionMessage[]> {
    assertOptionalId(leafId, LEAF);
    assertOptions(options, "getHistory()");
    assertOneOf(options.onCorrupt, ON_CORRUPT, "onCorrupt");
    return this.#started.backend.history(leafId ?? undefined, options.onCorrupt ?? "throw");
  }

  /**
   * The visible history as a stream that holds a page at a time, oldest first unless `newestFirst`. It sees what was
   * written before this call, whenever it is read; of what is written later, edits and deletes on later pages.
   */
  history<M extends SessionMessage = HistoryMessage>(options: HistoryOptions = {}): AsyncIterable<M> {
    assertOptions(options, "history()");
    assertOptionalId(options.leafId, LEAF);
    assertOneOf(options.onCorrupt, ON_CORRUPT, "onCorrupt");
    return this.#started.backend.stream({ ...options, leafId: options.leafId ?? undefined }) as AsyncIterable<M>;
  }

  /**
   * The newest messages of the visible history whose sizes as JSON add up to at most `maxBytes`, oldest first; at least
   * `minMessages` of them (default 1) whatever their size; a number in the place of the options is that. A summary
   * counts as one message.
   */
  async getRecentHistory(maxBytes: number, options: number | { minMessages?: number } = {}): Promise<RecentHistory> {
    if (typeof options !== "number") assertOptions(options, "getRecentHistory()");
    const { minMessages = 1 } = typeof options === "number" ? { minMessages: options } : options;
    if (typeof maxBytes !== "number" || !(maxBytes >= 0) || !Number.isInteger(minMessages) || minMessages < 0) {
      const message = "getRecentHistory() takes a number of bytes, and minMessages a whole number, both from 0.";
      throw new StemmaError("INVALID_ARGUMENT", { maxBytes, minMessages }, message);
    }
    return this.#started.backend.recent(maxBytes, minMessages);
  }

  /**
   * The size of each stored message on the active path, oldest first, without reading what it says: summaries hide
   * nothing here. Null when the session's provider cannot tell.
   */
  async getHistoryRowStats(): Promise<HistoryRowStat[] | null> {
    return this.#started.backend.rowStats();
  }

  /** One message as it was given, or null. */
  async getMessage<M extends SessionMessage = HistoryMessage>(id: string): Promise<M | null> {
    assertText(id, "The id of getMessage()");
    return (await this.#started.backend.message(id)) as M | null;
  }

  /** The active leaf's message; null in an empty session. */
  async getLatestLeaf<M extends SessionMessage = HistoryMessage>(): Promise<M | null> {
    return (await this.#started.backend.leaf()) as M | null;
  }

  /** The messages whose parent is `messageId`, oldest first. Errors: `MESSAGE_NOT_FOUND`. */
  async getBranches<M extends SessionMessage = HistoryMessage>(messageId: string): Promise<M[]> {
    assertText(messageId, "The message id of getBranches()");
    return (await this.#started.backend.branches(messageId)) as M[];
  }

  /** Stored messages on the path; summaries are not counted. */
  async getPathLength(leafId?: string | null): Promise<number> {
    assertOptionalId(leafId, LEAF);
    return this.#started.backend.pathLength(leafId ?? undefined);
  }

  /** Every message's place in the tree, in the order they were written. */
  async getTree(): Promise<TreeNode[]> {
    return this.#started.backend.tree();
  }

  /**
   * Messages that match the words of `query`, best first; at most `limit` (default 20), of those that the other options
   * leave. Nothing in a query is an operator or an error.
   * Errors: `SEARCH_UNAVAILABLE`, `MESSAGE_NOT_FOUND` for `leafId`, `INVALID_ARGUMENT` for an option that is none.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult[]> {
    assertText(query, "The query of search()");
    return this.#started.backend.search(query, searchRequest(options));
  }

  /** The same page by page: pass a page's `nextCursor` to get the next one. Without writes in between, no result comes twice or is left out. */
  async searchPage(query: string, options: SearchPageOptions = {}): Promise<SearchPage<SearchResult>> {
    assertText(query, "The query of searchPage()");
    const { backend } = this.#started;
    return searchPage(searchRequest(options), options.cursor, (request) => backend.search(query, request));
  }

  // ── Context ──

  /** A block as last read; null when there is none. Errors: `CONTEXT_NOT_LOADED` before any asynchronous call of the context. */
  getContextBlock(label: string): ContextBlock | null {
    assertText(label, "The label of getContextBlock()");
    return this.#started.context.block(label);
  }

  /** All blocks as last read, in the order they were added. Errors: `CONTEXT_NOT_LOADED`. */
  getContextBlocks(): ContextBlock[] {
    return this.#started.context.blocks();
  }

  /** Replaces a block's content; with `expectedVersion` only if it is still that version. Errors: `BLOCK_NOT_FOUND`, `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `BLOCK_CONFLICT`. */
  async replaceContextBlock(
    label: string,
    content: string,
    options: { expectedVersion?: number } = {},
  ): Promise<ContextBlock> {
    assertText(label, "The label of replaceContextBlock()");
    assertOptions(options, "replaceContextBlock()");
    return this.#inContext((context) => context.replace(label, content, options));
  }

  /**
   * Adds `content` to the end of a block, on a new line: a line break comes before it unless it starts with one or the
   * block is empty. Concurrent appends are all kept. Errors as for `replaceContextBlock`.
   */
  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    assertText(label, "The label of appendContextBlock()");
    return this.#inContext((context) => context.append(label, content));
  }

  /** Adds a block while the session is in use. The frozen prompt stays until `refreshSystemPrompt()`. */
  async addContext(label: string, options: ContextBlockOptions = {}): Promise<ContextBlock> {
    assertOptions(options, "addContext()");
    return this.#inContext((context) => context.add(label, options));
  }

  /** Takes a block out of the session; its content stays where it is kept. False when there is none. Errors: `CONTEXT_NOT_LOADED`. */
  removeContext(label: string): boolean {
    assertText(label, "The label of removeContext()");
    return this.#started.context.remove(label);
  }

  /**
   * Takes a loaded document out of what the model sees, as the tool `unload_context` does; it can be loaded again.
   * False when it is not loaded.
   */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    assertText(label, "The label of unloadSkill()");
    assertText(key, "The key of unloadSkill()");
    return this.#inContext(async ({ skills }) => (await skills?.unload(label, key)) ?? false);
  }

  /** The documents that are loaded, each as `label:key`. */
  async getLoadedSkillKeys(): Promise<Set<string>> {
    const loaded = await this.#inContext(async ({ skills }) => (await skills?.loaded()) ?? []);
    return new Set(loaded.map(({ label, key }) => `${label}:${key}`));
  }

  /** The system prompt: rendered once, and the same from then on until it is refreshed. */
  async freezeSystemPrompt(): Promise<string> {
    return this.#inContext((context) => context.freezePrompt());
  }

  /** Reads all blocks, renders the prompt anew and freezes that. */
  async refreshSystemPrompt(): Promise<string> {
    return this.#inContext((context) => context.refreshPrompt());
  }

  /**
   * What changed since the prompt was frozen in the blocks with `whenChanged: "remind"`, as text for the end of the
   * latest user message, so that the cached prefix stays whole. Null when nothing did.
   */
  async reminder(): Promise<string | null> {
    return this.#inContext((context) => context.reminder());
  }

  /** The AI SDK tools with which the model reads and writes the blocks. They change only with the set of blocks. */
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
   * Runs the compact function on the visible history to `leafId`, or to the active leaf, lays its summary over the range
   * and refreshes the frozen prompt. The range begins with the earliest visible summary at the latest, so that one
   * remains. Null when nothing was stored: nothing to compact, an empty summary, one longer than what it replaces, a range
   * that changed meanwhile, or a function that failed, which subscribers and `onCompactionError` are told.
   * Errors: `COMPACTION_NOT_CONFIGURED`, `MESSAGE_NOT_FOUND`, `COMPACTION_INVALID_RANGE`.
   */
  async compact(leafId?: string | null): Promise<CompactResult | null> {
    assertOptionalId(leafId, LEAF);
    return this.#started.compactor.run(leafId ?? undefined);
  }

  /** Lays a summary over a range of one path. Errors: `COMPACTION_INVALID_RANGE`. */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    assertText(summary, "The summary of addCompaction()");
    assertText(fromMessageId, "The first message id of addCompaction()");
    assertText(toMessageId, "The second message id of addCompaction()");
    const { backend, events } = this.#started;
    const overlay = await backend.addCompaction({ summary, fromMessageId, toMessageId });
    events.emit({ type: "messages", change: "compaction", ids: [overlay.id] });
    return overlay;
  }

  /** Every overlay of the session, oldest first. */
  async getCompactions(): Promise<StoredCompaction[]> {
    return this.#started.backend.compactions();
  }

  /** The original messages under an overlay; its id or its synthetic message's. Errors: `COMPACTION_NOT_FOUND`. */
  async expandCompaction<M extends SessionMessage = HistoryMessage>(id: string): Promise<M[]> {
    assertText(id, "The id of expandCompaction()");
    const compactionId = isSummaryMessage({ id }) ? id.slice(SUMMARY_ID_PREFIX.length) : id;
    return (await this.#started.backend.originals(compactionId)) as M[];
  }

  /** Calls `listener` with every later change that is made through this object. The result ends that. */
  subscribe(listener: SessionListener): () => void {
    assertFunction(listener, "The listener of subscribe()");
    return this.#started.events.subscribe(listener);
  }

  get #started(): SessionCore {
    this.#core ??= createCore(this.#provider, this.#sessionId, this.#config);
    return this.#core;
  }

  // Blocks may be known already, or kept by providers that are still there: a closed store is refused all the same. What
  // the call hands to the store comes before what is called next, so it does not wait for that.
  async #inContext<T>(call: (context: SessionContext) => Promise<T>): Promise<T> {
    const { backend, context } = this.#started;
    const [ready, result] = await Promise.allSettled([backend.ready(), call(context)]);
    if (ready.status === "rejected") throw ready.reason;
    if (result.status === "rejected") throw result.reason;
    return result.value;
  }

  #configure(change: Partial<SessionConfig>): this {
    if (this.#core !== null) {
      throw new StemmaError(
        "SESSION_STARTED",
        { sessionId: this.#sessionId },
        "Configure a session before its first use.",
      );
    }
    this.#config = { ...this.#config, ...change };
    return this;
  }

  async #append(messages: readonly SessionMessage[], parentId: string | null | undefined) {
    const { backend, events, compactor } = this.#started;
    const result = await backend.append(messages, parentId);
    if (result.insertedIds.length > 0) {
      events.emit({ type: "messages", change: "append", ids: result.insertedIds });
      await compactor.afterWrite(result.visibleTokens);
    }
    return result;
  }
}

function storedForm(message: SessionMessage): SessionMessage {
  const stored = JSON.parse(JSON.stringify(message)) as SessionMessage;
  if (message.createdAt instanceof Date) stored.createdAt = new Date(message.createdAt);
  return stored;
}
