import type { BaseMessage } from "@langchain/core/messages";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { StemmaError } from "../../errors.js";
import type { KeptWrite, Store } from "../../storage/contract.js";
import { isLangChainMessage } from "../mirror/message.js";
import { type MirroredMessages, type MirrorPlan, planMirror } from "../mirror/mirror.js";
import type { CheckpointReader } from "./checkpoint-reader.js";
import { type Configurable, checkpointIdOf, keyOf, type Place, scopeOf } from "./keys.js";
import { pruneCheckpoints } from "./prune.js";
import { countOf } from "./segments.js";
import { packCheckpoint, type StoredCheckpoint } from "./stored-checkpoint.js";
import { type EncodedChannels, encodeChannels, segmentsOf } from "./values.js";

export interface WriterOptions {
  readonly keep: number | undefined;
  /** The channel that is mirrored; false for none. */
  readonly channel: string | false;
}

/** What a put is about. */
interface Put {
  readonly place: Place;
  readonly parent: StoredCheckpoint | null;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
}

/** Writes the checkpoints of a store. */
export class CheckpointWriter {
  // Of each namespace, how many checkpoints were put since the older ones were last removed.
  readonly #puts = new Map<string, number>();

  constructor(
    private readonly store: Store,
    private readonly serde: SerializerProtocol,
    private readonly reader: CheckpointReader,
    private readonly options: WriterOptions,
  ) {}

  async put(
    place: Place,
    configurable: Configurable,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<void> {
    const parentId = checkpointIdOf(configurable);
    const parent = parentId === null ? null : await this.reader.find(place, parentId);
    // Also after the session was deleted.
    if (parent === null) await this.#register(place);
    const read = (key: string) => this.reader.valueRecord(place, key);
    const encoded = await encodeChannels(this.serde, checkpoint, newVersions, parent, parentId, read);
    const put: Put = { place, parent, checkpoint, metadata };
    const write = async (mirror: MirrorPlan | null) => {
      const { channels, frames, records } = encoded;
      const head = { parentId, leaf: mirror?.leaf, channels, frames };
      const value = await packCheckpoint(this.serde, checkpoint, metadata, head);
      await this.store.writeTogether([
        ...records.map((one) => ({ ...one, records: scopeOf(place, "values"), key: keyOf(place.namespace, one.key) })),
        ...(parentId === null ? childWrites(place, configurable, metadata) : []),
        { records: scopeOf(place, "checkpoints"), key: keyOf(place.namespace, checkpoint.id), value },
        ...(mirror?.writes ?? []),
      ]);
    };
    try {
      await write(await this.#mirror(put, encoded, parent?.leaf));
    } catch (error) {
      if (!MESSAGE_GONE.some((code) => StemmaError.isInstance(error, code))) throw error;
      await write(await this.#mirror(put, encoded, undefined));
    }
    await this.#prune(place);
  }

  async #register({ threadId }: Place): Promise<void> {
    await this.store.sessions.create({ id: threadId, name: threadId, source: "langgraph" });
  }

  // `leaf` is where the parent's messages end; undefined where they are not in the session, or not any more.
  async #mirror(put: Put, encoded: EncodedChannels, leaf: string | null | undefined): Promise<MirrorPlan | null> {
    const { channel } = this.options;
    const { place, parent, checkpoint, metadata } = put;
    if (channel === false || place.namespace !== "") return null;
    const messages = checkpoint.channel_values[channel];
    // A channel without a value yet, or one of which only changes are stored.
    if (messages === undefined) return leaf === undefined ? null : { leaf, writes: [] };
    if (!isMessages(messages)) return null;
    const before = leaf === undefined ? null : this.#mirrored(put, encoded, leaf, channel);
    const session = this.store.session(place.threadId);
    const isKept = versionOf(parent, channel) === (checkpoint.channel_versions[channel] ?? null);
    if (before !== null && isKept) {
      const moves = metadata.source === "update" || metadata.source === "fork";
      return { leaf: before.leaf, writes: moves ? [{ session: session.id, activeLeaf: before.leaf }] : [] };
    }
    if (before === null && messages.length === 0) return { leaf: null, writes: [] };
    return planMirror(session, messages, before, checkpoint.ts);
  }

  #mirrored(put: Put, encoded: EncodedChannels, leaf: string | null, channel: string): MirroredMessages {
    const { place, parent } = put;
    const refs = (parent?.channels ?? []).filter(([name]) => name === channel);
    const shared = encoded.shared.get(channel);
    const { segments, skip } = segmentsOf(refs[0]?.[2] ?? null);
    const length = countOf(segments) - skip;
    return {
      leaf,
      count: shared?.count ?? 0,
      isBeginning: refs.length === 0 || (length > 0 && shared !== undefined && shared.start + shared.count === length),
      load: async () => {
        const values = await this.reader.values(place, { channels: refs, frames: parent?.frames ?? [] });
        const messages = values?.get(channel) ?? [];
        return isMessages(messages) ? messages : [];
      },
    };
  }

  async #prune(place: Place): Promise<void> {
    const { keep } = this.options;
    if (keep === undefined) return;
    const key = keyOf(place.threadId, place.namespace);
    const puts = (this.#puts.get(key) ?? Number.POSITIVE_INFINITY) + 1;
    const isDue = puts >= keep / 8;
    this.#puts.delete(key);
    this.#puts.set(key, isDue ? 0 : puts);
    // A thread that was forgotten is looked at with its next put.
    if (this.#puts.size > THREADS) this.#puts.delete(this.#puts.keys().next().value as string);
    if (isDue) await pruneCheckpoints(this.store, this.serde, place, keep);
  }
}

/** Threads whose puts are counted at a time. */
const THREADS = 10_000;

/** What a write fails with when a message of the mirror was deleted from the session. */
const MESSAGE_GONE = ["PARENT_NOT_FOUND", "MESSAGE_NOT_FOUND"] as const;

// A subgraph is found, and removed, by the graph's checkpoint under which it ran.
function childWrites(
  place: Place,
  { checkpoint_map: map }: Configurable,
  { parents }: CheckpointMetadata,
): KeptWrite[] {
  const root = parents?.[""] ?? map?.[""];
  if (place.namespace === "" || root === undefined) return [];
  return [{ records: scopeOf(place, "children"), key: keyOf(root, place.namespace), value: new Uint8Array() }];
}

function isMessages(value: unknown): value is BaseMessage[] {
  return Array.isArray(value) && value.every(isLangChainMessage);
}

function versionOf(stored: StoredCheckpoint | null, channel: string): number | string | null {
  return stored?.channels.find(([name]) => name === channel)?.[1] ?? null;
}
