// One class, because the documents give it these methods: most hand over to the store, or to a session, in one line.
import type { CompactFunction } from "@stemma/model";
import {
  assertArgument,
  assertFunction,
  assertOptions,
  assertText,
  check,
  defineOptions,
  givenMessage,
  givenMessages,
  givenMetadata,
  type HistoryMessage,
  invalid,
  isSummary,
  type SessionMessage,
  StemmaError,
} from "@stemma/model";
import type {
  AppendMessageOptions,
  Erased,
  NewSession,
  Residue,
  SearchHit,
  SessionInfo,
  Store,
  StoredCompaction,
  UsageRequest,
  UsageSum,
} from "@stemma/store";
import { assertSessionId, assertSessionTexts, assertUserId, storeOf } from "@stemma/store";
import { BLOCK, type ContextBlock } from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";
import type { LearnFunction, TitleFunction } from "../learning/learn.js";
import type { Learner } from "../learning/learner.js";
import { storableFields } from "../session/arguments.js";
import type { CompactionErrorHandler } from "../session/compaction/compactor.js";
import { type Compacting, compactionConfig, learningConfig, thresholdConfig } from "../session/configure.js";
import {
  type CompactAfterOptions,
  EMPTY_CONFIG,
  type OnCompactionOptions,
  type OnLearningOptions,
} from "../session/options.js";
import type { AppendedMessage, LenientHistory, ReadHistoryOptions } from "../session/own-provider/provider.js";
import { AgentSessionProvider } from "../session/own-provider/store-session-provider.js";
import { type BlockPlace, blockPlaces, recallFrom } from "../session/recall/recall.js";
import { RECALL, type RecallOptions, type Recollection, userOfRecall } from "../session/recall/recall-options.js";
import {
  MANAGER_SEARCH_GROUPS,
  type ManagerSearchGroupsOptions,
  type SearchGroup,
  searchGroups,
} from "../session/search-groups.js";
import {
  MANAGER_SEARCH_PAGE,
  type ManagerSearchOptions,
  type ManagerSearchPageOptions,
  managerSearchRequest,
  type SearchPage,
  searchPage,
} from "../session/search-options.js";
import { coreOf, type Session } from "../session/session.js";
import { createRecallTool, createSessionSearchTool } from "../tools/expand-summary.js";
import type { SessionTool, SessionTools } from "../tools/tool.js";
import { LEARN_DUE, type LearnDueOptions, type LearnDueReceipt, learnDue } from "./learn-due.js";
import type {
  EraseOptions,
  ErasureReceipt,
  ManagedContextOptions,
  NewSessionOptions,
  ProviderForSession,
  RetainOptions,
  RetentionReceipt,
  SessionListOptions,
  SessionManagerOptions,
  SessionUpdate,
} from "./manager-options.js";
import { eraseUser, receiptOf, retain } from "./retain.js";
import { ManagedSession, SessionCache, searchableHistory } from "./session-cache.js";

const ID = "A session id";
const NAME = "A session's name";
const MAX_COST = 1e15;

const LIST = defineOptions<SessionListOptions>({
  userId: assertUserId,
  idPrefix: check.storable,
  nameContains: check.storable,
  metadata: storableFields,
  orderBy: check.oneOf("change", "tokens", "cost", "messages", "registered"),
  limit: check.whole(1),
  cursor: check.orNull(check.text),
});
const USAGE = defineOptions<UsageRequest>({
  by: check.required(check.oneOf("day", "model", "session")),
  sessionId: check.text,
  userId: assertUserId,
  from: check.text,
  to: check.text,
  limit: check.whole(1),
});
const NEW_SESSION = defineOptions<NewSessionOptions>({
  id: check.storable,
  parentSessionId: check.storable,
  model: check.storable,
  source: check.storable,
  userId: assertUserId,
  metadata: check.anything,
});
const NO_OPTIONS = defineOptions<SessionManagerOptions>({});
const UPDATE = defineOptions<SessionUpdate>({ name: check.storable, metadata: check.anything });
const ERASE = defineOptions<EraseOptions>({ scrub: check.flag });

type Configure = (session: Session, sessionId: string, store: Store) => void;

/**
 * The registry of the sessions of one store, and one configuration for all of them. Configure it by chaining; a builder
 * call after the first session was made fails with `SESSION_STARTED`. Every method fails with `INVALID_ARGUMENT` for an
 * argument of a wrong type, and can fail as its store does: `STORE_CLOSED`, `STORE_LOCKED`, `STORE_FAILED`,
 * `CONNECTION_LOST`, ….
 */
export class SessionManager {
  readonly #host: unknown;
  #store: Store;
  readonly #configure: Configure[] = [];
  readonly #sessions = new SessionCache();
  #compacting: Compacting = EMPTY_CONFIG;
  #started = false;
  #learns = false;

  /** A manager on a store, or on an agent (any object with a `sql` tagged template). Errors: `STORE_UNSUPPORTED`. */
  constructor(host: unknown, _options: SessionManagerOptions = {}) {
    NO_OPTIONS.assert(_options, "new SessionManager()");
    this.#host = host;
    this.#store = storeOf(host);
  }

  /**
   * A manager on a store or an agent, as `new SessionManager(host)` makes it. Errors: `STORE_UNSUPPORTED`.
   * @example
   * const manager = SessionManager.create(sqlite("chats.db")).withContext("memory", { scope: "user" }).withCachedPrompt();
   */
  static create(host: unknown): SessionManager {
    return new SessionManager(host);
  }

  /**
   * A manager for one user, with this one's configuration. Sessions that it makes are the user's. Another user's sessions
   * do not exist for it: `get` gives null, `list` and `search` leave them out, `update`, `fork` and the like fail with
   * `SESSION_NOT_FOUND`; calls on their messages and blocks, and `create` with their ids, fail with `SESSION_OWNED`. A
   * session of nobody is the user's from the first message, block or `create` on.
   * Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`; `SESSION_OWNED` on a manager of another user.
   * @example
   * const ada = manager.forUser("ada");
   * const { sessions } = await ada.listPage();
   */
  forUser(userId: string): SessionManager {
    const manager = new SessionManager(this.#host);
    manager.#store = this.#store.forUser(userId);
    // What is configured later would not reach it.
    this.#started = true;
    manager.#configure.push(...this.#configure);
    manager.#compacting = this.#compacting;
    manager.#learns = this.#learns;
    return manager;
  }

  /** The store that the sessions are in: of a manager of one user, that user's part of it. */
  get store(): Store {
    return this.#store;
  }

  // ── Configuration of all sessions ──

  /**
   * Adds a block to every session. Each session has its own content, unless `scope` says whose it is.
   * Errors: `SESSION_STARTED`, `INVALID_ARGUMENT`.
   * @example
   * const manager = SessionManager.create(store).withContext("memory", { description: "Facts about the user", scope: "user" });
   */
  withContext(label: string, options: ManagedContextOptions = {}): this {
    BLOCK.assertNames(options, "withContext()");
    const { provider, ...rest } = options;
    return this.#with((session, sessionId) => {
      const own = typeof provider === "function" ? provider(sessionId) : provider;
      session.withContext(label, own === undefined ? rest : { ...rest, provider: own });
    });
  }

  /**
   * Keeps each session's frozen system prompt in the store, or in `provider`.
   * Errors: `SESSION_STARTED`; `PROVIDER_SHARED` for one object that would hold the prompts of all sessions.
   * @example
   * const manager = SessionManager.create(store).withContext("memory").withCachedPrompt();
   */
  withCachedPrompt(provider?: ContextBlockProvider | ProviderForSession): this {
    if (provider !== undefined && typeof provider !== "function") assertOptions(provider, "withCachedPrompt()");
    if (provider !== undefined && typeof provider !== "function" && provider.forSession === undefined) {
      const message =
        "One object cannot keep the prompts of several sessions: pass a function (sessionId) => provider.";
      throw new StemmaError("PROVIDER_SHARED", {}, message);
    }
    return this.#with((session, sessionId) => {
      session.withCachedPrompt(typeof provider === "function" ? provider(sessionId) : provider);
    });
  }

  /** Sets how every session compacts, as `Session.onCompaction` does, with its errors. */
  onCompaction(compact: CompactFunction, options: OnCompactionOptions = {}): this {
    this.#compacting = { ...this.#compacting, ...compactionConfig(compact, options, this.#compacting) };
    return this.#with((session) => session.onCompaction(compact, options));
  }

  /** Sets when every session compacts, as `Session.compactAfter` does, with its errors. */
  compactAfter(tokenThreshold: number, options: CompactAfterOptions = {}): this {
    this.#compacting = { ...this.#compacting, ...thresholdConfig(tokenThreshold, options, this.#compacting) };
    return this.#with((session) => session.compactAfter(tokenThreshold, options));
  }

  /** Sets who is told of failed compactions, as `Session.onCompactionError` does, with its errors. */
  onCompactionError(handler: CompactionErrorHandler): this {
    assertFunction(handler, "The argument of onCompactionError()");
    return this.#with((session) => session.onCompactionError(handler));
  }

  /** Sets how every session learns, as `Session.onLearning` does, with its errors. */
  onLearning(learn: LearnFunction, options: OnLearningOptions = {}): this {
    learningConfig(learn, options);
    this.#learns = true;
    return this.#with((session) => session.onLearning(learn, options));
  }

  /** Names new sessions after their first exchange. See `Session.withTitle`, also for its errors. */
  withTitles(generate: TitleFunction): this {
    assertFunction(generate, "The argument of withTitles()");
    return this.#with((session) => session.withTitle(generate));
  }

  /** Names new sessions as `withTitles` does, under the name that a session has for it. */
  withTitle(generate: TitleFunction): this {
    return this.withTitles(generate);
  }

  /** Adds the tool `expand_summary` to every session, as `Session.withExpandableSummaries` does, with its errors. */
  withExpandableSummaries(): this {
    return this.#with((session) => session.withExpandableSummaries());
  }

  /**
   * Adds a block to every session with which the model searches the messages of all sessions, the current one included; of
   * a user's sessions those of the user.
   * Errors: `SESSION_STARTED`.
   */
  withSearchableHistory(label: string): this {
    const description = "Past conversations, of every session. Search before you say that you do not know.";
    return this.#with((session, _sessionId, store) => {
      session.withContext(label, { description, provider: searchableHistory(store) });
    });
  }

  // ── Registry ──

  /**
   * Registers a session. Without an `id` it gets a random one. If the id is already registered, nothing changes and its
   * entry is returned; with a user it becomes that user's if it was nobody's. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`,
   * `SESSION_LIMIT`, `SESSION_OWNED` for the id of another user's session.
   * @example
   * const { id } = await manager.create("Trip", { metadata: { topic: "travel" } });
   */
  async create(name: string, options: NewSessionOptions = {}): Promise<SessionInfo> {
    return this.#store.sessions.create(newSession(name, options));
  }

  /**
   * A session's entry, or null. Errors: only those of the store.
   * @example
   * const cost = (await manager.get("trip"))?.estimated_cost;
   */
  async get(sessionId: string): Promise<SessionInfo | null> {
    assertText(sessionId, ID);
    return this.#store.sessions.get(sessionId);
  }

  /** Every session; the one that changed last comes first. Errors: only those of the store. */
  async list(): Promise<SessionInfo[]> {
    return (await this.#store.sessions.list({})).sessions;
  }

  /**
   * Lists sessions page by page, 50 unless `limit` says otherwise, of those that the other options allow: pass the
   * `nextCursor` of a page to get the next one; it is null after the last. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`.
   * @example
   * const first = await manager.listPage({ metadata: { topic: "travel" }, limit: 20 });
   * const second = await manager.listPage({ metadata: { topic: "travel" }, limit: 20, cursor: first.nextCursor });
   */
  async listPage(options: SessionListOptions = {}): Promise<{ sessions: SessionInfo[]; nextCursor: string | null }> {
    LIST.assert(options, "listPage()");
    return this.#store.sessions.list({ ...options, limit: options.limit ?? 50, cursor: options.cursor ?? undefined });
  }

  /** Gives a session another name. Errors: `SESSION_NOT_FOUND`, `INVALID_TEXT`. */
  async rename(sessionId: string, name: string): Promise<void> {
    assertText(name, NAME);
    await this.update(sessionId, { name });
  }

  /**
   * Changes a session's name and metadata, in one atomic write. Each given field of the metadata is replaces the
   * present one as a whole; null removes a field, and fields that are not given stay. Resolves to the entry.
   * Errors: `SESSION_NOT_FOUND`, `INVALID_ARGUMENT`, `INVALID_TEXT`.
   */
  async update(sessionId: string, change: SessionUpdate): Promise<SessionInfo> {
    assertText(sessionId, ID);
    UPDATE.assert(change, "update()");
    const { name, metadata } = change;
    assertSessionTexts({ name });
    return this.#store.sessions.update(sessionId, {
      name,
      metadata: metadata === undefined ? undefined : givenMetadata(metadata),
    });
  }

  /**
   * Gives everything of an anonymous user to a user, at the login, in one atomic write: sessions, and blocks and entries
   * with `scope: "user"`. Where both have a block or an entry, the user's text stays, and the anonymous one is appended on
   * a new line unless the user's holds it already. Resolves to the number of sessions. A repeated call does nothing.
   * Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`; `SESSION_OWNED` on a manager of one user.
   */
  async claim(anonymousId: string, userId: string): Promise<number> {
    assertUserId(anonymousId);
    assertUserId(userId);
    return this.#store.sessions.claim(anonymousId, userId);
  }

  /**
   * Removes a session and everything stored for it: messages, summaries, blocks, prompt, entries, versions, records, index;
   * what belongs to its user or a key stays. An unknown id does nothing. Resolves to a receipt. A `Session` object of this
   * manager stays usable, and starts afresh. Errors: only those of the store.
   */
  async delete(sessionId: string, options: EraseOptions = {}): Promise<ErasureReceipt> {
    assertText(sessionId, ID);
    ERASE.assert(options, "delete()");
    return receiptOf(this.#store, await this.#deleteSession(sessionId), options);
  }

  /**
   * Removes everything that is kept for a user: the sessions, each in one transaction, then the blocks and entries with
   * `scope: "user"` and their versions. Answers of the chat handler that are under way are ended first, for which it waits at most
   * five seconds. If it is cut off, a second call finishes. Data that it cannot know to be the user's, such as the blocks of a key,
   * stays. Resolves to a receipt.
   * Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`; `SESSION_OWNED` on a manager of another user.
   */
  async eraseUser(userId: string, options: EraseOptions = {}): Promise<ErasureReceipt> {
    assertUserId(userId);
    ERASE.assert(options, "eraseUser()");
    const store = this.#store.forUser(userId);
    return receiptOf(store, await eraseUser(store, userId, (id) => this.#deleteSession(id)), options);
  }

  /**
   * Removes what is too old, in steps for which no writer waits for more than 50 ms; see `RetainOptions`. Resolves to what was
   * removed. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`; `SESSION_OWNED` on a manager of another user.
   */
  async retain(options: RetainOptions): Promise<RetentionReceipt> {
    return retain(this.#store, options, (id) => this.#sessions.reset(id));
  }

  /**
   * Learns from the sessions that hold messages nobody has learned from, one after the other, as `onLearning` of this manager says. Any
   * process may call it, at any time: each message is learned from once, and what a killed process left is found again. What a
   * learn function fails with is in the receipt. Errors: `INVALID_ARGUMENT`, also without `onLearning`; those of the store.
   * @example
   * const { sessions, usage } = await manager.learnDue({ limit: 20, maxCost: 0.5 });
   */
  async learnDue(options: LearnDueOptions = {}): Promise<LearnDueReceipt> {
    LEARN_DUE.assert(options, "learnDue()");
    if (!this.#learns) throw invalid("learnDue() needs to know how to learn: call onLearning() first.");
    return learnDue(this.#store, options, (id) => coreOf(this.getSession(id)).learner as Learner);
  }

  /**
   * Rewrites the database, so that its files hold nothing that was deleted. Writers wait meanwhile: a gigabyte takes about a
   * minute, and as much room again. Resolves to what is left: `none`; `pending` when a reader or a writer stood in the way (call
   * it again); `unknown` when the store cannot rewrite its files. Errors: only those of the store.
   */
  async scrub(): Promise<Residue> {
    return (await this.#store.scrub?.()) ?? "unknown";
  }

  /**
   * The session with this id, with this manager's configuration. It need not be registered. Returns the same object while
   * you hold it or its tools, subscribe to it, or wait for its calls; some time after that its memory is freed.
   * Errors: `INVALID_ARGUMENT`.
   * @example
   * const { system, messages, tools } = await manager.getSession("trip").prepareTurn();
   */
  getSession(sessionId: string): Session {
    assertText(sessionId, ID);
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    this.#started = true;
    const session = this.#configured(sessionId);
    this.#sessions.set(sessionId, session);
    return session;
  }

  // ── Messages ──

  /**
   * Appends a message; registers the session if needed. Resolves to the message's id. Errors as for
   * `Session.appendMessage`.
   * @example
   * await manager.append("trip", { id: "q1", role: "user", parts: [{ type: "text", text: "Where to?" }] });
   */
  async append(
    sessionId: string,
    message: unknown,
    parentId?: string | null,
    options: AppendMessageOptions = {},
  ): Promise<string> {
    const checked = givenMessage(message);
    await this.getSession(sessionId).appendMessage(checked, parentId, options);
    return checked.id;
  }

  /**
   * Updates the message with this id, or appends it; `parentId` counts only when it is appended. Resolves to the message's
   * id.
   * Errors as for `Session.upsertMessage`.
   */
  async upsert(sessionId: string, message: unknown, parentId?: string | null): Promise<string> {
    const checked = givenMessage(message);
    await this.getSession(sessionId).upsertMessage(checked, parentId);
    return checked.id;
  }

  /**
   * Appends messages as one chain, in one atomic write; summaries are skipped. Resolves to the id of the last message, null
   * if there is none. Errors as for `Session.appendAll`.
   */
  async appendAll(
    sessionId: string,
    messages: readonly unknown[],
    parentId?: string | null,
    options: AppendMessageOptions = {},
  ): Promise<string | null> {
    assertArgument(check.list("messages"), messages, "The messages of appendAll()");
    const checked = givenMessages(messages);
    await this.getSession(sessionId).appendAll(checked, parentId, options);
    const last = checked.findLast((message) => !isSummary(message));
    return last === undefined ? null : givenMessage(last).id;
  }

  /** Appends a message beside another one, as `Session.editMessage` does, with its errors. */
  async editMessage<M extends SessionMessage = HistoryMessage>(
    sessionId: string,
    messageId: string,
    message: unknown,
  ): Promise<AppendedMessage<M>> {
    return this.getSession(sessionId).editMessage<M>(messageId, message);
  }

  /** Makes the branch of a message the active one, as `Session.selectBranch` does, with its errors. */
  async selectBranch<M extends SessionMessage = HistoryMessage>(sessionId: string, messageId: string): Promise<M> {
    return this.getSession(sessionId).selectBranch<M>(messageId);
  }

  /**
   * Reads the visible history of a session, as `Session.getHistory` does, with its errors.
   * @example
   * const messages = await convertToModelMessages(await manager.getHistory("trip"));
   */
  getHistory<M extends SessionMessage = HistoryMessage>(
    sessionId: string,
    leafId: string | null | undefined,
    options: ReadHistoryOptions & { onCorrupt: "skip" },
  ): Promise<LenientHistory<M>>;
  getHistory<M extends SessionMessage = HistoryMessage>(
    sessionId: string,
    leafId?: string | null,
    options?: ReadHistoryOptions,
  ): Promise<M[]>;
  async getHistory(
    sessionId: string,
    leafId?: string | null,
    options: ReadHistoryOptions = {},
  ): Promise<SessionMessage[]> {
    return this.getSession(sessionId).getHistory(leafId, options);
  }

  /** Reads the messages below a message, as `Session.getBranches` does, with its errors. */
  async getBranches<M extends SessionMessage = HistoryMessage>(sessionId: string, messageId: string): Promise<M[]> {
    return this.getSession(sessionId).getBranches<M>(messageId);
  }

  /** Reads a message's parent, as `Session.getParent` does, with its errors. */
  async getParent<M extends SessionMessage = HistoryMessage>(sessionId: string, messageId: string): Promise<M | null> {
    return this.getSession(sessionId).getParent<M>(messageId);
  }

  /** Reads the ids of the messages below a message, as `Session.getBranchIds` does, with its errors. */
  async getBranchIds(sessionId: string, messageId: string): Promise<string[]> {
    return this.getSession(sessionId).getBranchIds(messageId);
  }

  /** Reads the ids of messages' siblings, as `Session.getSiblingIds` does, with its errors. */
  async getSiblingIds(sessionId: string, messageIds: readonly string[]): Promise<Record<string, string[]>> {
    return this.getSession(sessionId).getSiblingIds(messageIds);
  }

  /** Reads a message's siblings, as `Session.getSiblings` does, with its errors. */
  async getSiblings<M extends SessionMessage = HistoryMessage>(sessionId: string, messageId: string): Promise<M[]> {
    return this.getSession(sessionId).getSiblings<M>(messageId);
  }

  /** The number of stored messages on the active path. Errors: only those of the store. */
  async getMessageCount(sessionId: string): Promise<number> {
    return this.getSession(sessionId).getPathLength();
  }

  /** Removes all messages of a session, as `Session.clearMessages` does, with its errors. */
  async clearMessages(sessionId: string): Promise<void> {
    await this.getSession(sessionId).clearMessages();
  }

  /** Removes messages, as `Session.deleteMessages` does, with its errors. */
  async deleteMessages(sessionId: string, messageIds: readonly string[]): Promise<void> {
    await this.getSession(sessionId).deleteMessages(messageIds);
  }

  // ── Forks, compaction, usage ──

  /**
   * Copies the path to `atMessageId` into a new session, in one atomic write: messages with their ids, summaries with the
   * messages under them, the current blocks, the frozen prompt, user and metadata. Errors: `SESSION_NOT_FOUND`,
   * `MESSAGE_NOT_FOUND`, `SESSION_LIMIT`, `INVALID_TEXT`, and `INVALID_ARGUMENT` for an id that is taken.
   */
  async fork(
    sessionId: string,
    atMessageId: string,
    newName: string,
    options: { id?: string } = {},
  ): Promise<SessionInfo> {
    assertText(sessionId, ID);
    assertText(atMessageId, "The message id of fork()");
    return this.#store.sessions.fork(sessionId, atMessageId, newSession(newName, options));
  }

  /**
   * Ends a session (`end_reason: "compaction"`) and starts a new one whose first message is the summary. The new session
   * gets copies of the blocks and of the frozen prompt, and the same user and metadata. Errors: `SESSION_NOT_FOUND`,
   * `MESSAGE_TOO_LARGE`, `INVALID_TEXT`, `SESSION_LIMIT`.
   */
  async compactAndSplit(sessionId: string, summary: string, newName?: string): Promise<SessionInfo> {
    assertText(sessionId, ID);
    assertText(summary, "The summary of compactAndSplit()");
    const first = {
      id: crypto.randomUUID(),
      role: "assistant",
      parts: [{ type: "text", text: `[Context from previous session]\n\n${summary}` }],
      metadata: { summaryOf: sessionId },
    };
    const { name, ...continuation } = newSession(newName ?? "", {});
    return this.#store.sessions.split(sessionId, first, {
      ...continuation,
      name: newName === undefined ? undefined : name,
    });
  }

  /** Lays a summary over a range, as `Session.addCompaction` does, with its errors. */
  async addCompaction(sessionId: string, summary: string, fromId: string, toId: string): Promise<StoredCompaction> {
    return this.getSession(sessionId).addCompaction(summary, fromId, toId);
  }

  /** Reads the summaries of a session, as `Session.getCompactions` does, with its errors. */
  async getCompactions(sessionId: string): Promise<StoredCompaction[]> {
    return this.getSession(sessionId).getCompactions();
  }

  /** Removes a summary, as `Session.removeCompaction` does, with its errors. */
  async removeCompaction(sessionId: string, id: string): Promise<void> {
    await this.getSession(sessionId).removeCompaction(id);
  }

  /** Reads a block of a session, as `Session.readContextBlock` does, with its errors. */
  async readContextBlock(sessionId: string, label: string): Promise<ContextBlock | null> {
    return this.getSession(sessionId).readContextBlock(label);
  }

  /**
   * Counts a request to a model: adds whole numbers of tokens and a cost to the session's counters, and to those of the session,
   * the present day (UTC) and the model. The counters of tokens stop at plus or minus `Number.MAX_SAFE_INTEGER`.
   * Errors: `SESSION_NOT_FOUND`, `INVALID_ARGUMENT`.
   */
  async addUsage(
    sessionId: string,
    inputTokens: number,
    outputTokens: number,
    cost = 0,
    model?: string,
  ): Promise<void> {
    assertText(sessionId, ID);
    const countable = Number.isSafeInteger(inputTokens) && Number.isSafeInteger(outputTokens);
    if (!countable || typeof cost !== "number" || !(Math.abs(cost) <= MAX_COST)) {
      const message = "addUsage() takes whole numbers of input and output tokens, and a cost if you have one.";
      throw invalid(message, { inputTokens, outputTokens, cost });
    }
    if (model !== undefined) assertText(model, "The model of addUsage()");
    assertSessionTexts({ model });
    await this.#store.sessions.addUsage(sessionId, inputTokens, outputTokens, cost, model);
  }

  /**
   * Sums up what the sessions used, by day, model or session: days newest first, the others by cost, highest first. Days are
   * in UTC, as `2026-11-22`. Errors: `INVALID_ARGUMENT`.
   */
  async getUsage(request: UsageRequest): Promise<UsageSum[]> {
    USAGE.assert(request, "getUsage()");
    return this.#store.sessions.usage(request);
  }

  // ── Across sessions ──

  /**
   * The messages of all sessions, or of those in `sessionIds`, that match. Options and errors as for `Session.search`.
   * @example
   * const hits = await manager.forUser("ada").search("ferry to Lisbon", { limit: 5 });
   */
  async search(query: string, options: ManagerSearchOptions = {}): Promise<SearchHit[]> {
    assertText(query, "The query of search()");
    return this.#store.search(query, managerSearchRequest(options));
  }

  /**
   * Recalls what the user's memory holds about a text, as `Session.recall` does, of all of the user's sessions, but no entries of a
   * session's own. Errors as for
   * `Session.recall`: `USER_REQUIRED` on a manager of no user without `userId`.
   * @example
   * const { results, text } = await manager.forUser("ada").recall("Which sauce may I eat?");
   */
  async recall(query: string, options: RecallOptions = {}): Promise<Recollection> {
    assertText(query, "The query of recall()");
    RECALL.assert(options, "recall()");
    const { store, userId } = userOfRecall(this.#store, options);
    return recallFrom(store, { ...options, userId, said: query, places: this.#blockPlaces() });
  }

  /** Searches as `search` does, page by page. Errors as for `Session.searchPage`. */
  async searchPage(query: string, options: ManagerSearchPageOptions = {}): Promise<SearchPage<SearchHit>> {
    assertText(query, "The query of searchPage()");
    const store = this.#store;
    const request = managerSearchRequest(options, MANAGER_SEARCH_PAGE);
    return searchPage(request, options.cursor, (page) => store.search(query, page));
  }

  /** Searches all sessions, or those in `sessionIds`, for exchanges or sessions. Options and errors as for `Session.searchGroups`. */
  async searchGroups(query: string, options: ManagerSearchGroupsOptions): Promise<SearchPage<SearchGroup>> {
    assertText(query, "The query of searchGroups()");
    const store = this.#store;
    return searchGroups<SearchHit>(managerSearchRequest(options, MANAGER_SEARCH_GROUPS), options, {
      search: (request) => store.search(query, request),
      message: (sessionId, id) => store.session(sessionId).message(id, { createdAt: true }),
    });
  }

  /**
   * The AI SDK tools that look into all sessions: `session_search`, and on a manager of one user `recall`, which also finds entries of
   * the user. They never fail; a failed search is a result of the tool.
   */
  async tools(): Promise<SessionTools & { session_search: SessionTool; recall?: SessionTool }> {
    const search = createSessionSearchTool((query, options) => this.search(query, options));
    const { userId } = this.#store;
    if (userId === undefined) return { session_search: search };
    const recall = createRecallTool((said, signal) =>
      recallFrom(this.#store, { said, userId, signal, places: this.#blockPlaces() }),
    );
    return { session_search: search, recall };
  }

  #configured(sessionId: string): Session {
    const provider = new AgentSessionProvider(this.#host, sessionId, this.#store);
    const session = new ManagedSession(provider, this.#sessions);
    for (const configure of this.#configure) configure(session, sessionId, this.#store);
    return session;
  }

  // Any session declares them. This one is nobody's: the manager can still be configured, and no entries are its own.
  #blockPlaces(): BlockPlace[] {
    const { context } = coreOf(this.#configured(crypto.randomUUID()));
    return blockPlaces(context.live.all).filter(({ scope }) => scope !== "session");
  }

  #deleteSession(id: string): Promise<Erased> {
    const deleted = this.#store.sessions.delete(id);
    // Now, in the order of the calls.
    this.#sessions.reset(id);
    return deleted;
  }

  #with(configure: Configure): this {
    if (this.#started) {
      throw new StemmaError("SESSION_STARTED", {}, "Configure a manager before its first session is used.");
    }
    this.#configure.push(configure);
    return this;
  }
}

function newSession(name: string, options: NewSessionOptions): NewSession {
  assertArgument(check.storable, name, NAME);
  NEW_SESSION.assert(options, "a new session");
  const { metadata } = options;
  const session = { ...options, id: options.id ?? crypto.randomUUID(), name };
  assertSessionId(session.id);
  assertSessionTexts(session);
  return { ...session, metadata: metadata === undefined ? undefined : givenMetadata(metadata) };
}
