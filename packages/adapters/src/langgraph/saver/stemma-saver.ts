import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { check, decodeJson, defineOptions, encodeJson, invalid, StemmaError } from "@stemma/model";
import type { RecordStore, Store } from "@stemma/store";
import { assertStore, redactLangChain } from "@stemma/store";
import { CheckpointReader } from "./checkpoint-reader.js";
import { CheckpointWriter } from "./checkpoint-writer.js";
import { type Configurable, checkpointIdOf, configOf, type Place, placeOf } from "./keys.js";
import { addWrites, readWrites } from "./pending-writes.js";
export interface StemmaSaverOptions {
  /**
   * How many checkpoints of a thread to keep, the newest ones; the same of each subgraph that has a memory of its own. At most
   * an eighth more are there at a time. Default: all.
   */
  readonly keep?: number | undefined;
  /** The channel whose messages the session shows too; false for none. Default: "messages". */
  readonly messages?: string | false | undefined;
  /** Writes values as bytes and reads them. Default: LangGraph's own. */
  readonly serde?: SerializerProtocol | undefined;
}

const OPTIONS = defineOptions<StemmaSaverOptions>({
  keep: check.whole(1),
  messages: check.rule("the name of a channel, or false", (value) => value === false || typeof value === "string"),
  serde: check.anything,
});

/**
 * A LangGraph checkpointer on a store of ours. A thread is the session with the same id: it is in the store's list, and
 * deleting either deletes both. Each `put` and `putWrites` is one transaction; what it resolved for is stored. A value
 * that did not change is not stored again, and of a list that grew only what was added.
 *
 * On a store of one user (`store.forUser`) the threads are that user's; those of others fail with `SESSION_OWNED`.
 * Every method fails with `INVALID_ARGUMENT` for a configuration without a thread, but for `getTuple` and `list`.
 */
export class StemmaSaver extends BaseCheckpointSaver {
  readonly #store: Store;
  readonly #reader: CheckpointReader;
  readonly #writer: CheckpointWriter;

  /** Errors: `STORE_UNSUPPORTED` for what is no store, `INVALID_ARGUMENT` for options. */
  constructor(store: Store, options: StemmaSaverOptions = {}) {
    super(options?.serde);
    OPTIONS.assert(options, "StemmaSaver");
    const { keep, messages = "messages" } = options;
    assertStore(store, "A StemmaSaver");
    this.#store = store;
    this.#reader = new CheckpointReader(store, this.serde, (current) => this.getNextVersion(current));
    this.#writer = new CheckpointWriter(store, this.serde, this.#reader, { keep, channel: messages });
  }

  /** The checkpoint that a configuration names, or its thread's latest. Undefined when there is none. Errors: `CORRUPT_STATE`. */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const configurable: Configurable | undefined = config.configurable;
    if (configurable?.thread_id === undefined) return undefined;
    const place = placeOf(configurable);
    return (await this.#reader.tuple(place, checkpointIdOf(configurable))) ?? undefined;
  }

  /**
   * Checkpoints, newest first in each namespace. Without a thread those of all threads, the one that changed last first. A
   * filter compares fields of the metadata. Errors: `CORRUPT_STATE`.
   */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    yield* this.#reader.list(config.configurable ?? {}, options);
  }

  /** Stores a checkpoint, with the messages that its session shows. Errors: those of the store. */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const place = placeOf(config.configurable);
    const redacted = await this.#redacted(place, checkpoint, true);
    const about = await this.#redacted(place, metadata, true);
    await this.#writer.put(place, config.configurable ?? {}, redacted, about, newVersions);
    return configOf(place, checkpoint.id);
  }

  /** Stores what a task wrote to a checkpoint. A write that is stored already stays; errors and interrupts are replaced. */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { place, id } = named(config.configurable);
    const redacted = await Promise.all(
      writes.map(async ([channel, value]): Promise<PendingWrite> => [channel, await this.#redacted(place, value)]),
    );
    await addWrites(this.#store.records, this.serde, place, id, { writes: redacted, taskId, path: taskPath });
  }

  /** Deletes a thread with its session: checkpoints, messages, blocks and entries. Errors: those of the store. */
  override async deleteThread(threadId: string): Promise<void> {
    await this.#store.sessions.delete(placeOf({ thread_id: threadId }).threadId);
  }

  /** The writes that delta channels are made of; see LangGraph's `BaseCheckpointSaver`. Reads of each checkpoint only what it needs. Errors: those of the store. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options;
    if (channels.length === 0) return {};
    const id = checkpointIdOf(config.configurable);
    return deltaHistory(this.#store.records, this.#reader, this.serde, placeOf(config.configurable), id, channels);
  }

  #redacted<T>({ threadId }: Place, value: T, isCheckpoint = false): Promise<T> {
    return redactedValue(this.#store, this.serde, threadId, value, isCheckpoint);
  }
}

function named(configurable: Configurable | undefined): { place: Place; id: string } {
  const place = placeOf(configurable);
  const id = checkpointIdOf(configurable);
  if (id !== null) return { place, id };
  throw invalid("Writes belong to a checkpoint: pass the configuration that put() resolved to.");
}

/**
 * A value as the store will hold it, so that it compares with what is read. Bytes are no text. `isCheckpoint`: it is a checkpoint,
 * or its metadata. Errors: `REDACTION_FAILED`, also where a serializer of the user's does not write JSON.
 */
async function redactedValue<T>(
  { redaction }: Store,
  serde: SerializerProtocol,
  sessionId: string,
  value: T,
  isCheckpoint = false,
): Promise<T> {
  if (redaction === undefined) return value;
  const [type, bytes] = await serde.dumpsTyped(value);
  if (type === "bytes") return value;
  if (type !== "json") throw unreadable(type);
  const json = decodeJson(bytes);
  const redacted = redactLangChain(
    json,
    { kind: "record", sessionId, label: "langgraph" },
    redaction.text,
    isCheckpoint,
  );
  return redacted === json ? value : await serde.loadsTyped(type, encodeJson(redacted));
}

function unreadable(type: string): StemmaError {
  const message = `The serializer wrote a value as "${type}", in which no text can be redacted, so nothing was stored. On a store with redact it must write JSON.`;
  return new StemmaError("REDACTION_FAILED", { type }, message);
}

/**
 * Of each channel what was written to it before a checkpoint, oldest first, back to the nearest checkpoint that has its
 * value, and that value.
 */
async function deltaHistory(
  records: RecordStore,
  reader: CheckpointReader,
  serde: SerializerProtocol,
  place: Place,
  checkpointId: string | null,
  channels: readonly string[],
): Promise<Record<string, DeltaChannelHistory>> {
  const found = new Map<string, { steps: CheckpointPendingWrite[][]; seed?: unknown }>();
  for (const name of channels) found.set(name, { steps: [] });
  const open = new Set(channels);
  let parentId = (await reader.find(place, checkpointId))?.parentId ?? null;
  while (parentId !== null && open.size > 0) {
    const [stored, writes] = await Promise.all([
      reader.find(place, parentId),
      readWrites(records, serde, place, parentId, open),
    ]);
    if (stored === null) break;
    for (const name of open) found.get(name)?.steps.push(writes.filter(([, channel]) => channel === name));
    const refs = stored.channels.filter(([name]) => open.has(name));
    for (const [name, seed] of (await reader.values(place, { channels: refs, frames: stored.frames })) ?? []) {
      Object.assign(found.get(name) as object, { seed });
      open.delete(name);
    }
    parentId = stored.parentId;
  }
  const histories = [...found].map(([name, { steps, ...rest }]) => [name, { writes: steps.reverse().flat(), ...rest }]);
  return Object.fromEntries(histories);
}
