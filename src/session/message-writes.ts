import { type HistoryMessage, isSummary, type SessionMessage, takeSerialised } from "../model/message.js";
import type {
  AppendMessageOptions,
  AppendResult,
  KeptWrite,
  MessageWrite,
  NewCompaction,
  ParentRef,
  Store,
  StoredCompaction,
} from "../storage/contract.js";
import type { Compactor } from "./compactor.js";
import type { SessionEvent, SessionEvents } from "./events.js";
import type { AppendedMessage, SessionBackend } from "./provider.js";

export interface WriteParts {
  readonly backend: SessionBackend;
  readonly events: SessionEvents;
  readonly compactor: Compactor;
  /** Notes that messages were written. */
  readonly wrote: (messages: readonly SessionMessage[]) => void;
  /** Removes all messages, and renders anew what prompt was frozen. */
  readonly clear: () => Promise<void>;
}

/**
 * What changes the messages of a session: each is handed to the backend before the call returns, then told to the listeners,
 * and then the compactor may act. Messages are those that `givenMessage` made. Errors: those of `Session`'s methods.
 */
export class MessageWrites {
  constructor(private readonly parts: WriteParts) {}

  async append<M extends SessionMessage = HistoryMessage>(
    message: SessionMessage,
    parent: ParentRef,
    options: AppendMessageOptions,
  ): Promise<AppendedMessage<M>> {
    return appended<M>(message, await this.#append([message], parent, options));
  }

  async appendAll(
    messages: readonly SessionMessage[],
    parent: ParentRef,
    options: AppendMessageOptions,
  ): Promise<string[]> {
    return [...(await this.#append(messages, parent, options)).insertedIds];
  }

  async edit<M extends SessionMessage = HistoryMessage>(
    messageId: string,
    message: SessionMessage,
  ): Promise<AppendedMessage<M>> {
    const { backend } = this.parts;
    return appended<M>(message, await this.#inserted([message], backend.appendSibling(messageId, message)));
  }

  /** Writes of the session's messages with others of its store, all of it or nothing. */
  async together(store: Store, writes: readonly KeptWrite[]): Promise<void> {
    const { events, compactor, wrote } = this.parts;
    await store.writeTogether(writes);
    const changes = writes.filter((write) => "session" in write);
    for (const change of changes) {
      if ("append" in change) wrote(change.append);
      if ("update" in change) wrote([change.update]);
      events.emit(eventOf(change));
    }
    if (changes.length > 0) await compactor.afterWrite(null);
  }

  async update(message: SessionMessage): Promise<void> {
    const { backend, events, compactor, wrote } = this.parts;
    await backend.update(message);
    wrote([message]);
    events.emit({ type: "messages", change: "update", ids: [message.id] });
    await compactor.afterChange();
  }

  async upsert(message: SessionMessage, parent: ParentRef): Promise<boolean> {
    const { backend, events, compactor, wrote } = this.parts;
    const { inserted, visibleTokens } = await backend.upsert(message, parent, { measured: compactor.estimates });
    if (isSummary(message)) return false;
    wrote([message]);
    events.emit({ type: "messages", change: inserted ? "append" : "update", ids: [message.id] });
    await compactor.afterWrite(visibleTokens);
    return inserted;
  }

  async delete(messageIds: readonly string[]): Promise<void> {
    const { backend, events, compactor } = this.parts;
    const ids = await backend.delete(messageIds);
    if (ids.length === 0) return;
    events.emit({ type: "messages", change: "delete", ids });
    await compactor.afterChange();
  }

  async clear(): Promise<void> {
    const { clear, events, compactor } = this.parts;
    await clear();
    events.emit({ type: "messages", change: "clear", ids: [] });
    await compactor.afterChange();
  }

  async setActiveLeaf(messageId: string): Promise<void> {
    const { backend, events } = this.parts;
    await backend.setActiveLeaf(messageId);
    events.emit({ type: "messages", change: "leaf", ids: [messageId] });
  }

  async rewindTo(messageId: string): Promise<void> {
    const { backend, events } = this.parts;
    await backend.rewindTo(messageId);
    events.emit({ type: "messages", change: "leaf", ids: [messageId] });
  }

  async selectBranch(messageId: string): Promise<SessionMessage> {
    const { backend, events } = this.parts;
    const leaf = await backend.selectBranch(messageId);
    events.emit({ type: "messages", change: "leaf", ids: [leaf.id] });
    return leaf;
  }

  async addCompaction(given: NewCompaction): Promise<StoredCompaction> {
    const { backend, events } = this.parts;
    const compaction = await backend.addCompaction(given);
    events.emit({ type: "messages", change: "compaction", ids: [compaction.id] });
    return compaction;
  }

  async removeCompaction(compactionId: string): Promise<void> {
    const { backend, events, compactor } = this.parts;
    await backend.removeCompaction(compactionId);
    events.emit({ type: "messages", change: "compaction_removed", ids: [compactionId] });
    await compactor.afterChange();
  }

  #append(
    messages: readonly SessionMessage[],
    parent: ParentRef,
    options: AppendMessageOptions,
  ): Promise<AppendResult> {
    const { backend, compactor } = this.parts;
    const { expectedLeaf } = options;
    return this.#inserted(messages, backend.append(messages, parent, { expectedLeaf, measured: compactor.estimates }));
  }

  async #inserted(messages: readonly SessionMessage[], writing: Promise<AppendResult>): Promise<AppendResult> {
    const { events, compactor, wrote } = this.parts;
    const result = await writing;
    if (result.insertedIds.length > 0) {
      wrote(messages);
      events.emit({ type: "messages", change: "append", ids: result.insertedIds });
      await compactor.afterWrite(result.visibleTokens);
    }
    return result;
  }
}

function eventOf(write: MessageWrite): SessionEvent {
  if ("clear" in write) return { type: "messages", change: "clear", ids: [] };
  if ("append" in write) return { type: "messages", change: "append", ids: write.append.map(({ id }) => id) };
  if ("update" in write) return { type: "messages", change: "update", ids: [write.update.id] };
  return { type: "messages", change: "leaf", ids: write.activeLeaf === null ? [] : [write.activeLeaf] };
}

function appended<M extends SessionMessage>(
  given: SessionMessage,
  { insertedIds, stored }: AppendResult,
): AppendedMessage<M> {
  // The caller may change it from here on, and give it again.
  takeSerialised(given);
  return { inserted: insertedIds.length > 0, message: (stored ?? given) as M };
}
