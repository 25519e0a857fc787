// One class, because the documents give it these methods: each checks its arguments, hands over to what does the work
// (`backend`, `context`, `compactor`) and tells the listeners.
import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { ContextBlock, ContextBlockOptions } from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";
import type { SessionContext } from "../context/session-context.js";
import { StemmaError } from "../errors.js";
import { givenMessage, isSummary, isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX } from "../model/message.js";
import type { RecentHistory, StoredCompaction, TreeNode } from "../storage/contract.js";
import { createExpandSummaryTool } from "../tools/expand-summary.js";
import type { SessionTools } from "../tools/tool.js";
import { AgentSessionProvider } from "./agent-session-provider.js";
import { assertList } from "./arguments.js";
import type { CompactionErrorHandler } from "./compactor.js";
import { createCore, type SessionCore } from "./core.js";
import type { SessionListener } from "./events.js";
import { isSessionProvider, sessionIdOf } from "./host.js";
import { type CompactAfterOptions, EMPTY_CONFIG, type SessionConfig, type SessionOptions } from "./options.js";
import type { AppendedMessage, HistoryOptions, LenientHistory, SearchResult, SessionProvider } from "./provider.js";
import {
  type SearchOptions,
  type SearchPage,
  type SearchPageOptions,
  searchPage,
  searchRequest,
} from "./search-options.js";

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
    this.#provider = provider;
    this.#sessionId = sessionIdOf(provider) ?? "";
    this.#config = {
      ...EMPTY_CONFIG,
      context: options.context ?? [],
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

  /** Names the session. Errors: `SESSION_ID_BOUND` when the provider belongs to another one. */
  forSession(sessionId: string): this {
    this.#configure({});
    const bound = sessionIdOf(this.#provider);
    if (this.#provider instanceof AgentSessionProvider) {
      this.#provider = this.#provider.forSession(sessionId);
    } else if (bound !== null && bound !== sessionId) {
      const message = `The provider belongs to session "${bound}"; it cannot serve "${sessionId}".`;
      throw new StemmaError("SESSION_ID_BOUND", { sessionId: bound, requested: sessionId }, message);
    }
    this.#sessionId = sessionId;
    return this;
  }

  /** Adds a block. Without a `provider` it is kept in the session's store and the model may write it. */
  withContext(label: string, options: ContextBlockOptions = {}): this {
    return this.#configure({ context: [...this.#config.context, { ...options, label }] });
  }

  /** Keeps the frozen system prompt across restarts: in the session's store, or in `provider`. */
  withCachedPrompt(provider?: ContextBlockProvider): this {
    return this.#configure({ cachedPrompt: provider ?? true });
  }

  /** How to compact: `createCompactFunction(…)`, or a function of your own. */
  onCompaction(compact: CompactFunction): this {
    return this.#configure({ compact });
  }

  /**
   * Compacts after a write that leaves more than `tokenThreshold` estimated tokens of visible history and frozen prompt.
   * Its failure does not fail the write. Errors: `INVALID_ARGUMENT`.
   */
  compactAfter(tokenThreshold: number, options: CompactAfterOptions = {}): this {
    if (!(tokenThreshold > 0)) {
      throw new StemmaError("INVALID_ARGUMENT", { tokenThreshold }, "compactAfter() takes a number of tokens above 0.");
    }
    return this.#configure({
      threshold: tokenThreshold,
      tokenCounter: options.tokenCounter ?? this.#config.tokenCounter,
    });
  }

  /** Called with what an automatic compaction failed with. What it throws itself is dropped. */
  onCompactionError(handler: CompactionErrorHandler): this {
    return this.#configure({ onCompactionError: handler });
  }

  /** Adds the tool `expand_summary`, with which the model can read the messages under a summary. */
  withExpandableSummaries(): this {
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
    const { backend, events, compactor } = this.#started;
    const given = givenMessage(message);
    const inserted = await backend.upsert(given, parentId);
    if (isSummary(given)) return false;
    events.emit({ type: "messages", change: inserted ? "append" : "update", ids: [given.id] });
    await compactor.afterWrite(null);
    return inserted;
  }

  /** Removes messages. What hung below one hangs below its parent; a deleted leaf moves to it. Unknown ids are ignored. */
  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    assertList(messageIds, "deleteMessages() takes an array of message ids.");
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
    const { backend, events } = this.#started;
    await backend.setActiveLeaf(messageId);
    events.emit({ type: "messages", change: "leaf", ids: [messageId] });
  }

  // ── Reading ──

  /**
   * The visible history from the root to `leafId`, or to the active leaf: a summary stands for each compacted range.
   * With `onCorrupt: "skip"`, rows that cannot be read are left out and their ids listed in the result's `corrupt`.
   * Errors: `MESSAGE_NOT_FOUND`, `CORRUPT_MESSAGE`.
   */
  getHistory<M extends SessionMessage = SessionMessage>(
    leafId: string | undefined,
    options: { onCorrupt: "skip" },
  ): Promise<LenientHistory<M>>;
  getHistory<M extends SessionMessage = SessionMessage>(
    leafId?: string,
    options?: { onCorrupt?: "skip" | "throw" },
  ): Promise<M[]>;
  async getHistory(leafId?: string, options: { onCorrupt?: "skip" | "throw" } = {}): Promise<SessionMessage[]> {
    return this.#started.backend.history(leafId, options.onCorrupt ?? "throw");
  }

  /**
   * The visible history as a stream that holds a page at a time, oldest first unless `newestFirst`. It sees what was
   * written before this call, whenever it is read; of what is written later, edits and deletes on later pages.
   */
  history<M extends SessionMessage = SessionMessage>(options: HistoryOptions = {}): AsyncIterable<M> {
    return this.#started.backend.stream(options) as AsyncIterable<M>;
  }

  /**
   * The newest messages of the visible history whose sizes as JSON add up to at most `maxBytes`, oldest first; at least
   * `minMessages` of them (default 1) whatever their size. A summary counts as one message.
   */
  async getRecentHistory(maxBytes: number, options: { minMessages?: number } = {}): Promise<RecentHistory> {
    const { minMessages = 1 } = options;
    if (!(maxBytes >= 0) || !Number.isInteger(minMessages) || minMessages < 0) {
      const message = "getRecentHistory() takes a number of bytes, and minMessages a whole number, both from 0.";
      throw new StemmaError("INVALID_ARGUMENT", { maxBytes, minMessages }, message);
    }
    return this.#started.backend.recent(maxBytes, minMessages);
  }

  /** One message as it was given, or null. */
  async getMessage<M extends SessionMessage = SessionMessage>(id: string): Promise<M | null> {
    return (await this.#started.backend.message(id)) as M | null;
  }

  /** The active leaf's message; null in an empty session. */
  async getLatestLeaf<M extends SessionMessage = SessionMessage>(): Promise<M | null> {
    return (await this.#started.backend.leaf()) as M | null;
  }

  /** The messages whose parent is `messageId`, oldest first. Errors: `MESSAGE_NOT_FOUND`. */
  async getBranches<M extends SessionMessage = SessionMessage>(messageId: string): Promise<M[]> {
    return (await this.#started.backend.branches(messageId)) as M[];
  }

  /** Stored messages on the path; summaries are not counted. */
  async getPathLength(leafId?: string): Promise<number> {
    return this.#started.backend.pathLength(leafId);
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
    return this.#started.backend.search(query, searchRequest(options));
  }

  /** The same page by page: pass a page's `nextCursor` to get the next one. Without writes in between, no result comes twice or is left out. */
  async searchPage(query: string, options: SearchPageOptions = {}): Promise<SearchPage<SearchResult>> {
    const { backend } = this.#started;
    return searchPage(searchRequest(options), options.cursor, (request) => backend.search(query, request));
  }

  // ── Context ──

  /** A block as last read; null when there is none. Errors: `CONTEXT_NOT_LOADED` before any asynchronous call of the context. */
  getContextBlock(label: string): ContextBlock | null {
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
    return this.#inContext((context) => context.replace(label, content, options));
  }

  /** Adds `content`, as it is, to the end of a block; concurrent appends are all kept. Errors as for `replaceContextBlock`. */
  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.#inContext((context) => context.append(label, content));
  }

  /** Adds a block while the session is in use. The frozen prompt stays until `refreshSystemPrompt()`. */
  async addContext(label: string, options: ContextBlockOptions = {}): Promise<ContextBlock> {
    return this.#inContext((context) => context.add(label, options));
  }

  /** Takes a block out of the session; its content stays where it is kept. False when there is none. Errors: `CONTEXT_NOT_LOADED`. */
  removeContext(label: string): boolean {
    return this.#started.context.remove(label);
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
   * Runs the compact function on the visible history and lays its summary over the range. Null when nothing was stored:
   * nothing to compact, an empty summary, one longer than what it replaces, or a range that changed meanwhile.
   * Errors: `COMPACTION_NOT_CONFIGURED`, and what the function throws.
   */
  async compact(): Promise<CompactResult | null> {
    return this.#started.compactor.run();
  }

  /** Lays a summary over a range of one path. Errors: `COMPACTION_INVALID_RANGE`. */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
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
  async expandCompaction<M extends SessionMessage = SessionMessage>(id: string): Promise<M[]> {
    const compactionId = isSummaryMessage({ id }) ? id.slice(SUMMARY_ID_PREFIX.length) : id;
    return (await this.#started.backend.originals(compactionId)) as M[];
  }

  /** Calls `listener` with every later change that is made through this object. The result ends that. */
  subscribe(listener: SessionListener): () => void {
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
