import type { SessionMessage } from "../model/message.js";
import type { Store, StoredCompaction } from "../storage/contract.js";
import type { SearchResult, SessionBackend, SessionProvider } from "./provider.js";
import { storeBackend } from "./store-backend.js";

/** A provider of a session that is kept in a store: the documented methods, and what a session needs beyond them. */
export abstract class StoreSessionProvider implements SessionProvider {
  readonly store: Store;
  readonly sessionId: string;
  readonly backend: SessionBackend;

  protected constructor(store: Store, sessionId: string) {
    this.store = store;
    this.sessionId = sessionId;
    this.backend = storeBackend(store, sessionId);
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

  async clearMessages(): Promise<void> {
    await this.backend.clear();
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
