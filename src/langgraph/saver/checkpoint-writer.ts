import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { KeptWrite, Store } from "../../storage/contract.js";
import { betterView, ChannelMirror, FIRST_VIEW, type View } from "./channel-mirror.js";
import type { CheckpointReader } from "./checkpoint-reader.js";
import { encodeChannels } from "./encode-channels.js";
import { type Configurable, checkpointIdOf, keyOf, type Place, scopeOf } from "./keys.js";
import { pruneCheckpoints } from "./prune.js";
import type { KnownValues } from "./shared-list.js";
import { packCheckpoint, type StoredCheckpoint } from "./stored-checkpoint.js";
import { ValueCache } from "./value-cache.js";

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
