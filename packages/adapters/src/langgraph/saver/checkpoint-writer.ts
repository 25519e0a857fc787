import type { BaseMessage } from "@langchain/core/messages";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { Recent, StemmaError } from "@stemma/model";
import type { KeptWrite, Store } from "@stemma/store";
import { isLangChainMessage } from "../mirror/message.js";
import { type MirroredMessages, type MirrorPlan, planMirror } from "../mirror/mirror.js";
import type { CheckpointReader } from "./checkpoint-reader.js";
import { type EncodedChannels, encodeChannels } from "./encode-channels.js";
import { type Configurable, checkpointIdOf, keyOf, type Place, scopeOf } from "./keys.js";
import { pruneCheckpoints } from "./prune.js";
import type { KnownValues } from "./segments.js";
import { countOf } from "./segments.js";
import { packCheckpoint, type StoredCheckpoint } from "./stored-checkpoint.js";
import { segmentsOf } from "./values.js";
export interface WriterOptions {
  readonly keep: number | undefined;
  /** The channel that is mirrored; false for none. */
  readonly channel: string | false;
}

/** A put as it was asked for. */
interface Request {
  readonly place: Place;
  readonly configurable: Configurable;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
}

/** Writes the checkpoints of a store. */
export class CheckpointWriter {
  // Of each namespace, how many checkpoints were put since the older ones were last removed.
  readonly #puts = new Map<string, number>();
  readonly #cache = new ValueCache();
  readonly #mirror: ChannelMirror;

  constructor(
    private readonly store: Store,
    private readonly serde: SerializerProtocol,
    private readonly reader: CheckpointReader,
    private readonly options: WriterOptions,
  ) {
    this.#mirror = new ChannelMirror(store, reader, options.channel);
  }

  async put(
    place: Place,
    configurable: Configurable,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<void> {
    const request: Request = { place, configurable, checkpoint, metadata, newVersions };
    for (let view: View | null = FIRST_VIEW; view !== null; ) view = await this.#attempt(request, view);
    await this.#prune(place);
  }

  // Null once it is stored, else what is known better for the next attempt.
  async #attempt({ newVersions, ...request }: Request, view: View): Promise<View | null> {
    const { place, configurable, checkpoint, metadata } = request;
    const parentId = checkpointIdOf(configurable);
    const parent = parentId === null ? null : await this.reader.find(place, parentId);
    // Also after the session was deleted.
    if (parent === null)
      await this.store.sessions.create({ id: place.threadId, name: place.threadId, source: "langgraph" });
    const encoded = await encodeChannels(this.serde, checkpoint, newVersions, parent, parentId, this.#values(place));
    try {
      const mirror = await this.#mirror.plan({ place, parent, checkpoint, metadata }, encoded, view);
      const { channels, frames, records } = encoded;
      const head = { parentId, leaf: mirror?.leaf, channels, frames };
      const value = await packCheckpoint(this.serde, checkpoint, metadata, head);
      // An append comes first: it makes other writers of the session wait, who need not be told by another statement.
      await this.store.writeTogether([
        ...(mirror?.writes ?? []),
        ...(parent === null ? [] : [unchanged(place, parent)]),
        ...records.map((one) => ({ ...one, records: scopeOf(place, "values"), key: keyOf(place.namespace, one.key) })),
        ...(parentId === null ? childWrites(place, configurable, metadata) : []),
        { records: scopeOf(place, "checkpoints"), key: keyOf(place.namespace, checkpoint.id), value },
      ]);
      for (const one of records) this.#cache.set(one.key, one.value);
      return null;
    } catch (error) {
      return betterView(view, error);
    }
  }

  #values(place: Place): KnownValues {
    return {
      atHand: (key) => this.#cache.get(key),
      read: async (key) => {
        const record = this.#cache.get(key) ?? (await this.reader.valueRecord(place, key));
        if (record !== null) this.#cache.set(key, record);
        return record;
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

// The parent is as it was read: another program that removes it, and the values that it shares, must not come in between.
function unchanged(place: Place, { id, version }: StoredCheckpoint): KeptWrite {
  return { records: scopeOf(place, "checkpoints"), key: keyOf(place.namespace, id), atVersion: version };
}

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

/** The bytes that all records together take at most. */
const MAX_BYTES = 4_000_000;
/** Characters of a key and what stands around an entry, in bytes. */
const OVERHEAD = 200;

/**
 * Records of values that were read or written lately, so that the next put need not read them again. A key is made of its
 * record's content, so what is kept is right for as long as a checkpoint names the key.
 */
class ValueCache {
  readonly #records = new Recent<Uint8Array>(MAX_BYTES);

  get(key: string): Uint8Array | null {
    const record = this.#records.get(key);
    if (record !== undefined) this.set(key, record);
    return record ?? null;
  }

  set(key: string, record: Uint8Array): void {
    const size = record.length + OVERHEAD;
    if (size <= MAX_BYTES) this.#records.set(key, record, size);
  }
}

/** A checkpoint to be put, and the one that it follows. */
interface Put {
  readonly place: Place;
  readonly parent: StoredCheckpoint | null;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
}

/** How an attempt to put looks at the session. */
interface View {
  /** The message is there with which the parent's messages end. */
  readonly hasLeaf: boolean;
  /** Messages are looked up before they are written: one of them is in the session already. */
  readonly looksUp: boolean;
}

/** The view of the first attempt. */
const FIRST_VIEW: View = { hasLeaf: true, looksUp: false };

/** Plans how the messages of a checkpoint's channel come into the session. */
class ChannelMirror {
  constructor(
    private readonly store: Store,
    private readonly reader: CheckpointReader,
    private readonly channel: string | false,
  ) {}

  /** Plans the writes of the session that mirror a checkpoint; null where nothing of it is mirrored. */
  async plan(put: Put, encoded: EncodedChannels, view: View): Promise<MirrorPlan | null> {
    const { channel } = this;
    const { place, parent, checkpoint, metadata } = put;
    // Where the parent's messages end; undefined where they are not in the session, or not any more.
    const leaf = view.hasLeaf ? parent?.leaf : undefined;
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
    return planMirror(session, messages, before, { createdAt: checkpoint.ts, looksUp: view.looksUp });
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
}

/** The view of the next attempt, after what another program wrote or deleted meanwhile, or what the view left out. Throws any other error. */
function betterView(view: View, error: unknown): View {
  if (!StemmaError.isInstance(error)) throw error;
  switch (error.code) {
    case "RECORD_CONFLICT":
      return view;
    case "MESSAGE_EXISTS":
      return { ...view, looksUp: true };
    case "PARENT_NOT_FOUND":
    case "MESSAGE_NOT_FOUND":
      return { hasLeaf: false, looksUp: true };
    default:
      throw error;
  }
}

function isMessages(value: unknown): value is BaseMessage[] {
  return Array.isArray(value) && value.every(isLangChainMessage);
}

function versionOf(stored: StoredCheckpoint | null, channel: string): number | string | null {
  return stored?.channels.find(([name]) => name === channel)?.[1] ?? null;
}
