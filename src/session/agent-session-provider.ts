import { StemmaError } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import type { Store, StoredCompaction } from "../storage/contract.js";
import { storeOf } from "../storage/store-of.js";
import type { SearchResult, SessionBackend, SessionProvider } from "./provider.js";
import { storeBackend } from "./store-backend.js";

/** The provider of a session that is kept in a store, or in the database of an agent. `Session.create(host)` makes one itself. */
export class AgentSessionProvider implements SessionProvider {
  readonly store: Store;
  readonly sessionId: string;
  /** The object it was made on. */
  readonly host: unknown;
  readonly backend: SessionBackend;
  private readonly bound: boolean;

  /** `host` is a store or an agent. Without a `sessionId` it is the unnamed session. Errors: `STORE_UNSUPPORTED`. */
  constructor(host: unknown, sessionId?: string) {
    this.host = host;
    this.store = storeOf(host);
    this.sessionId = sessionId ?? "";
    this.bound = sessionId !== undefined;
    this.backend = storeBackend(this.store, this.sessionId);
  }

  /** The same for another session. Errors: `SESSION_ID_BOUND` when it was made for a certain one. */
  forSession(sessionId: string): AgentSessionProvider {
    if (sessionId === this.sessionId) return this;
    if (this.bound) {
      const message = `This provider was made for session "${this.sessionId}"; make one for "${sessionId}".`;
      throw new StemmaError("SESSION_ID_BOUND", { sessionId: this.sessionId, requested: sessionId }, message);
    }
    return new AgentSessionProvider(this.host, sessionId);
  }

  getMessage(id: string): Promise<SessionMessage | null> {
    return this.backend.message(id);
  }

  getHistory(leafId?: string): Promise<SessionMessage[]> {
    return this.backend.history(leafId, "throw");
  }

  getLatestLeaf(): Promise<SessionMessage | null> {
    return this.backend.leaf();
  }

  getBranches(messageId: string): Promise<SessionMessage[]> {
    return this.backend.branches(messageId);
  }

  getPathLength(leafId?: string): Promise<number> {
    return this.backend.pathLength(leafId);
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

  clearMessages(): Promise<void> {
    return this.backend.clear();
  }

  addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    return this.backend.addCompaction({ summary, fromMessageId, toMessageId });
  }

  getCompactions(): Promise<StoredCompaction[]> {
    return this.backend.compactions();
  }

  searchMessages(query: string, limit = 20): Promise<SearchResult[]> {
    return this.backend.search(query, { limit });
  }
}
