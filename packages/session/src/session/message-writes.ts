import { type HistoryMessage, isSummary, type SessionMessage, StemmaError, takeSerialised } from "@stemma/model";
import {
  type AppendMessageOptions,
  type AppendResult,
  assertSessionFits,
  type KeptWrite,
  type MessageWrite,
  type NewCompaction,
  type ParentRef,
  type Store,
  type StoredCompaction,
  type WrittenIds,
} from "@stemma/store";
import type { Compactor } from "./compaction/compactor.js";
import type { MessageChange, SessionEvents } from "./events.js";
import { storeNeeded } from "./host.js";
import type { AppendedMessage, SessionBackend } from "./own-provider/provider.js";
import type { TurnRecords } from "./turn/log.js";

interface WriteParts {
  readonly backend: SessionBackend;
  readonly events: SessionEvents;
  readonly compactor: Compactor;
  /** Who is told of messages that were written, before the listeners are. */
  readonly followers: readonly { wrote(messages: readonly SessionMessage[]): void }[];
  /** Removes all messages, and renders anew what prompt was frozen. */
  readonly clear: () => Promise<void>;
}

/** Writes that were stored together. */
export interface TogetherResult {
  readonly ids: WrittenIds;
  /** The compaction that may follow. */
  readonly settled: Promise<void>;
}

/**
 * Changes the messages of a session: each change is handed to the backend before the call returns, then told to the listeners,
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
    assertSessionFits(backend.id);
    return appended<M>(message, await this.#inserted([message], backend.appendSibling(messageId, message)));
  }

  /** Writes of the session's messages with others of its store, all of it or nothing. */
  async together(store: Store, writes: readonly KeptWrite[]): Promise<TogetherResult> {
    const { compactor } = this.parts;
    const ids = await store.writeTogether(writes);
    const changes = writes.flatMap((write, index) => ("session" in write ? [{ write, ids: ids[index] ?? [] }] : []));
    for (const { write, ids } of changes) {
      const [change, changed] = changeOf(write, ids);
      // What was known stays as it is.
      if (change === "append" && changed.length === 0) continue;
      this.#wrote(messagesOf(write));
      this.#tell(change, changed);
    }
    if (changes.length === 0) return { ids, settled: Promise.resolve() };
    const grows = changes.some(({ write }) => "append" in write || "appendSibling" in write || "upsert" in write);
    return { ids, settled: grows ? compactor.afterWrite(null) : compactor.afterChange() };
  }

  async update(message: SessionMessage): Promise<void> {
    await this.parts.backend.update(message);
    if (isSummary(message)) return;
    this.#wrote([message]);
    await this.#changed("update", [message.id]);
  }

  async upsert(message: SessionMessage, parent: ParentRef): Promise<boolean> {
    const { backend, compactor } = this.parts;
    assertSessionFits(backend.id);
    const { inserted, visibleTokens } = await backend.upsert(message, parent, { measured: compactor.estimates });
    if (isSummary(message)) return false;
    this.#wrote([message]);
    this.#tell(inserted ? "append" : "update", [message.id]);
    await compactor.afterWrite(visibleTokens);
    return inserted;
  }

  async delete(messageIds: readonly string[]): Promise<void> {
    const ids = await this.parts.backend.delete(messageIds);
    if (ids.length > 0) await this.#changed("delete", ids);
  }

  async clear(): Promise<void> {
    await this.parts.clear();
    await this.#changed("clear", []);
  }

  async setActiveLeaf(messageId: string): Promise<void> {
    await this.parts.backend.setActiveLeaf(messageId);
    this.#tell("leaf", [messageId]);
  }

  async rewindTo(messageId: string, except: readonly string[]): Promise<void> {
    await this.parts.backend.rewindTo(messageId, { except });
    this.#tell("leaf", [messageId]);
  }

  async selectBranch(messageId: string): Promise<SessionMessage> {
    const leaf = await this.parts.backend.selectBranch(messageId);
    this.#tell("leaf", [leaf.id]);
    return leaf;
  }

  async addCompaction(given: NewCompaction): Promise<StoredCompaction> {
    const compaction = await this.parts.backend.addCompaction(given);
    this.#tell("compaction", [compaction.id]);
    return compaction;
  }

  async removeCompaction(compactionId: string): Promise<void> {
    await this.parts.backend.removeCompaction(compactionId);
    await this.#changed("compaction_removed", [compactionId]);
  }

  #append(
    messages: readonly SessionMessage[],
    parent: ParentRef,
    options: AppendMessageOptions,
  ): Promise<AppendResult> {
    const { backend, compactor } = this.parts;
    assertSessionFits(backend.id);
    const { expectedLeaf } = options;
    return this.#inserted(messages, backend.append(messages, parent, { expectedLeaf, measured: compactor.estimates }));
  }

  async #inserted(messages: readonly SessionMessage[], writing: Promise<AppendResult>): Promise<AppendResult> {
    const { compactor } = this.parts;
    const result = await writing;
    if (result.insertedIds.length > 0) {
      this.#wrote(messages);
      this.#tell("append", result.insertedIds);
      await compactor.afterWrite(result.visibleTokens);
    }
    return result;
  }

  #wrote(messages: readonly SessionMessage[]): void {
    for (const follower of this.parts.followers) follower.wrote(messages);
  }

  // Of a change after which nothing is compacted.
  #changed(change: MessageChange, ids: readonly string[]): Promise<void> {
    this.#tell(change, ids);
    return this.parts.compactor.afterChange();
  }

  #tell(change: MessageChange, ids: readonly string[]): void {
    this.parts.events.emit({ type: "messages", change, ids });
  }
}

function messagesOf(write: MessageWrite): readonly SessionMessage[] {
  if ("append" in write) return write.append;
  if ("appendSibling" in write) return [write.appendSibling];
  if ("upsert" in write) return [write.upsert];
  return "update" in write ? [write.update] : [];
}

// `ids` are those that the store told of the write.
function changeOf(write: MessageWrite, ids: readonly string[]): [MessageChange, ids: readonly string[]] {
  if ("clear" in write) return ["clear", []];
  if ("update" in write) return ["update", [write.update.id]];
  if ("upsert" in write) return ids.length > 0 ? ["append", ids] : ["update", [write.upsert.id]];
  return "append" in write || "appendSibling" in write ? ["append", ids] : ["leaf", ids];
}

function appended<M extends SessionMessage>(
  given: SessionMessage,
  { insertedIds, stored }: AppendResult,
): AppendedMessage<M> {
  // The caller may change it from here on, and give it again.
  takeSerialised(given);
  return { inserted: insertedIds.length > 0, message: (stored ?? given) as M };
}

/**
 * Writes that a store would make together, for a session of a user's own provider: one after the other, while the records that
 * are checked are as they should be. Errors: `RECORD_CONFLICT`, `STORE_UNSUPPORTED` for what is no write of messages or records.
 */
export async function writeOneByOne(
  messages: MessageWrites,
  records: TurnRecords,
  writes: readonly KeptWrite[],
): Promise<TogetherResult> {
  const ids: (readonly string[])[] = [];
  for (const write of writes) ids.push(await writeOne(messages, records, write));
  return { ids, settled: Promise.resolve() };
}

async function writeOne(messages: MessageWrites, records: TurnRecords, write: KeptWrite): Promise<readonly string[]> {
  if ("session" in write) return writeMessages(messages, write);
  if (!("records" in write)) throw storeNeeded("This");
  if ("atVersion" in write) await checkRecord(records, write);
  else if (write.value === null) await records.delete(write.records, write.key, write.options);
  else await records.set(write.records, write.key, write.value, write.options);
  return [];
}

async function writeMessages(messages: MessageWrites, write: MessageWrite): Promise<readonly string[]> {
  if ("clear" in write) await messages.clear();
  else if ("update" in write) {
    if (write.expected !== undefined) throw storeNeeded("This");
    await messages.update(write.update);
  } else if ("append" in write) return messages.appendAll(write.append, write.parent, write);
  else if ("appendSibling" in write) {
    return (await messages.edit(write.of, write.appendSibling)).inserted ? [write.appendSibling.id] : [];
  } else if ("upsert" in write) return (await messages.upsert(write.upsert, write.parent)) ? [write.upsert.id] : [];
  else if ("selectBranch" in write) return [(await messages.selectBranch(write.selectBranch)).id];
  else if (write.activeLeaf === null) throw storeNeeded("This");
  else await messages.setActiveLeaf(write.activeLeaf);
  return [];
}

async function checkRecord(records: TurnRecords, check: Extract<KeptWrite, { atVersion: number }>): Promise<void> {
  const { key, atVersion } = check;
  const version = (await records.get(check.records, key))?.version ?? 0;
  if (version === atVersion) return;
  throw new StemmaError("RECORD_CONFLICT", { key, version }, `Record "${key}" is at version ${version}.`);
}
