import type { SessionMessage } from "@stemma/model";
import { StemmaError } from "@stemma/model";
import type { PostgresSource } from "@stemma/postgres";
import { postgresStoreOf } from "@stemma/postgres";
import type { HistoryRowStat, RecentHistory, SessionStore, Store, StoredCompaction } from "@stemma/store";
import { storeOf } from "@stemma/store";
import type { DatedOptions, SearchResult, SessionProvider } from "./provider.js";
/** A provider of a session that is kept in a store: the documented methods, and what a session needs beyond them. */
export abstract class StoreSessionProvider implements SessionProvider {
  readonly store: Store;
  readonly sessionId: string;
  readonly backend: SessionStore;
  private readonly bound: boolean;

  /** Without a `sessionId` it is the unnamed session, until `forSession` names one. */
  protected constructor(store: Store, sessionId: string | undefined) {
    this.store = store;
    this.sessionId = sessionId ?? "";
    this.bound = sessionId !== undefined;
    this.backend = store.session(this.sessionId);
  }

  /** A provider of the same kind for another session, or on another store; without a session's id for none yet. */
  protected abstract copyFor(sessionId: string | undefined, store: Store): StoreSessionProvider;

  /** This provider for another session. Errors: `SESSION_ID_BOUND` when it was made for a certain one. */
  forSession(sessionId: string): StoreSessionProvider {
    if (sessionId === this.sessionId) return this;
    if (!this.bound) return this.copyFor(sessionId, this.store);
    const message = `This provider belongs to session "${this.sessionId}": make another one for "${sessionId}".`;
    throw new StemmaError("SESSION_ID_BOUND", { sessionId: this.sessionId, requested: sessionId }, message);
  }

  /** This provider for a user. Errors: `SESSION_OWNED` when it was made for another one. */
  forUser(userId: string): StoreSessionProvider {
    return this.copyFor(this.bound ? this.sessionId : undefined, this.store.forUser(userId));
  }

  getMessage(id: string, options?: DatedOptions): Promise<SessionMessage | null> {
    return this.backend.message(id, options);
  }

  async getHistory(leafId?: string | null, { createdAt }: DatedOptions = {}): Promise<SessionMessage[]> {
    return (await this.backend.path({ leafId: leafId ?? undefined, createdAt })).messages;
  }

  getRecentHistory(leafId: string | null | undefined, maxBytes: number, minMessages = 1): Promise<RecentHistory> {
    return this.backend.recent(maxBytes, { leafId: leafId ?? undefined, minMessages });
  }

  getHistoryRowStats(leafId?: string | null): Promise<HistoryRowStat[]> {
    return this.backend.rowStats(leafId ?? undefined);
  }

  getLatestLeaf(): Promise<SessionMessage | null> {
    return this.backend.leaf();
  }

  getBranches(messageId: string): Promise<SessionMessage[]> {
    return this.backend.branches(messageId);
  }

  getPathLength(leafId?: string | null): Promise<number> {
    return this.backend.length(leafId ?? undefined);
  }

  async appendMessage(message: SessionMessage, parentId?: string | null): Promise<void> {
    await this.backend.append([message], parentId);
  }

  updateMessage(message: SessionMessage): Promise<void> {
    return this.backend.update(message);
  }

  async deleteMessages(messageIds: string[]): Promise<void> {
    await this.backend.delete(messageIds);
  }

  async clearMessages(): Promise<void> {
    await this.backend.clear();
  }

  addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    return this.backend.addCompaction({ id: crypto.randomUUID(), summary, fromMessageId, toMessageId });
  }

  getCompactions(): Promise<StoredCompaction[]> {
    return this.backend.compactions();
  }

  searchMessages(query: string, limit = 20): Promise<SearchResult[]> {
    return this.backend.search(query, { limit });
  }
}

/**
 * The provider of a session that is kept in Postgres. Blocks that persist, and the frozen prompt, need providers of their
 * own: a session on this one makes none by itself, as a session on `postgres(client)` does.
 */
export class PostgresSessionProvider extends StoreSessionProvider {
  /** `client` is a client or pool of pg, the function of postgres.js, a PGlite database, or a store on one. Errors: `STORE_UNSUPPORTED`. */
  constructor(client: PostgresSource | Store, sessionId?: string) {
    super(postgresStoreOf(client), sessionId);
  }

  protected override copyFor(sessionId: string | undefined, store: Store): PostgresSessionProvider {
    return new PostgresSessionProvider(store, sessionId);
  }
}

/** The provider of a session that is kept in a store, or in the database of an agent. `Session.create(host)` makes one itself. */
export class AgentSessionProvider extends StoreSessionProvider {
  /** The object it was made on. */
  readonly host: unknown;

  /**
   * `host` is a store or an agent, `store` the one on it that is used. Without a `sessionId` it is the unnamed session.
   * Errors: `STORE_UNSUPPORTED`.
   */
  constructor(host: unknown, sessionId?: string, store: Store = storeOf(host)) {
    super(store, sessionId);
    this.host = host;
  }

  protected override copyFor(sessionId: string | undefined, store: Store): AgentSessionProvider {
    return new AgentSessionProvider(this.host, sessionId, store);
  }
}
