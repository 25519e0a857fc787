import {
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  maxChannelVersion,
  type SerializerProtocol,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import { packFrames, sameJson, unpackFrames } from "@stemma/model";
import type { Store, StoredRecord } from "@stemma/store";
import { allPages } from "../../item-history.js";
import {
  type ChannelRef,
  type Configurable,
  checkpointIdOf,
  configOf,
  decodeChannels,
  keyOf,
  namesOf,
  type Place,
  placeOf,
  type StoredChannels,
  scopeOf,
} from "./keys.js";
import { readWrites } from "./pending-writes.js";

/** Before this version of LangGraph's format, what was sent to nodes stood beside the parent only. */
const TASKS_IN_CHECKPOINT = 4;

const PAGE = 20;

export class CheckpointReader {
  constructor(
    private readonly store: Store,
    private readonly serde: SerializerProtocol,
    private readonly nextVersion: (current: number | undefined) => number,
  ) {}

  /** The checkpoint with an id, or the latest one of a namespace. */
  async find(place: Place, id: string | null): Promise<StoredCheckpoint | null> {
    const { records } = this.store;
    const scope = scopeOf(place, "checkpoints");
    if (id !== null) {
      const record = await records.get(scope, keyOf(place.namespace, id));
      return record === null ? null : unpackCheckpoint(this.serde, id, record);
    }
    const prefix = keyOf(place.namespace, "");
    const [latest] = await records.list(scope, { prefix, descending: true, limit: 1 });
    return latest === undefined ? null : unpackCheckpoint(this.serde, namesOf(latest.key)[1] as string, latest);
  }

  /** Values of channels by name; null when one of them was removed since the checkpoint was read. */
  values(place: Place, channels: StoredChannels): Promise<Map<string, unknown> | null> {
    return decodeChannels(this.serde, channels, (key) => this.valueRecord(place, key));
  }

  /** The record of a value; null when it is gone. */
  async valueRecord(place: Place, key: string): Promise<Uint8Array | null> {
    const record = await this.store.records.get(scopeOf(place, "values"), keyOf(place.namespace, key));
    return record?.value ?? null;
  }

  /** A checkpoint as LangGraph has it; null when it was removed since it was read. */
  async tupleOf(place: Place, stored: StoredCheckpoint): Promise<CheckpointTuple | null> {
    const { id, parentId } = stored;
    const [values, checkpoint, metadata, pendingWrites] = await Promise.all([
      this.values(place, stored),
      stored.checkpoint(),
      stored.metadata(),
      readWrites(this.store.records, this.serde, place, id),
    ]);
    if (values === null) return null;
    const complete = { ...checkpoint, channel_values: Object.fromEntries(values) };
    if (checkpoint.v < TASKS_IN_CHECKPOINT && parentId !== null) await this.#addSentTasks(place, parentId, complete);
    return {
      config: configOf(place, id),
      checkpoint: complete,
      metadata,
      pendingWrites,
      ...(parentId === null ? {} : { parentConfig: configOf(place, parentId) }),
    };
  }

  /** The checkpoint with an id, or the latest one, as LangGraph has it; null where there is none. */
  async tuple(place: Place, id: string | null): Promise<CheckpointTuple | null> {
    for (let before: StoredCheckpoint | null = null; ; ) {
      const stored = await this.find(place, id);
      const tuple = stored === null ? null : await this.tupleOf(place, stored);
      // What is read may be removed meanwhile, because there is a newer one.
      if (tuple !== null || stored === null || stored.version === before?.version) return tuple;
      before = stored;
    }
  }

  async *list(configurable: Configurable, options: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    if (left <= 0) return;
    for await (const threadId of this.#threads(configurable)) {
      for await (const tuple of this.#listThread(threadId, configurable, options)) {
        yield tuple;
        left -= 1;
        if (left === 0) return;
      }
    }
  }

  async *#threads(configurable: Configurable): AsyncGenerator<string> {
    if (configurable.thread_id !== undefined) {
      yield placeOf(configurable).threadId;
      return;
    }
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.store.sessions.list({ limit: PAGE, cursor });
      for (const { id } of page.sessions) yield id;
      cursor = page.nextCursor;
    }
  }

  async *#listThread(
    threadId: string,
    configurable: Configurable,
    { before, filter = {} }: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    const prefix = typeof configurable.checkpoint_ns === "string" ? keyOf(configurable.checkpoint_ns, "") : "";
    const scope = scopeOf({ threadId }, "checkpoints");
    const only = checkpointIdOf(configurable);
    const end = checkpointIdOf(before?.configurable);
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
    for await (const record of allPages(this.store.records, scope, { prefix, descending: true }, PAGE)) {
      const [namespace, id] = namesOf(record.key) as [string, string];
      if ((only !== null && id !== only) || (end !== null && id >= end)) continue;
      const stored = unpackCheckpoint(this.serde, id, record);
      const metadata: Record<string, unknown> = wanted.length === 0 ? {} : await stored.metadata();
      if (!wanted.every(([name, field]) => sameJson(metadata[name], field))) continue;
      const tuple = await this.tupleOf({ threadId, namespace }, stored);
      if (tuple !== null) yield tuple;
    }
  }

  async #addSentTasks(place: Place, parentId: string, checkpoint: CheckpointTuple["checkpoint"]): Promise<void> {
    const sent = await readWrites(this.store.records, this.serde, place, parentId, new Set([TASKS]));
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sent.map(([, , value]) => value);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.nextVersion(undefined);
  }
}

/** A checkpoint as its record has it: the values of large channels stand in records of their own. */
export interface StoredCheckpoint extends StoredChannels {
  readonly id: string;
  readonly version: number;
  readonly parentId: string | null;
  /** The session's message with which the mirrored messages end; null for none, undefined where none are mirrored. */
  readonly leaf: string | null | undefined;
  /** How many checkpoints before this one its delta channels are made of. */
  readonly reach: number;
  /** All of the checkpoint but its values. */
  checkpoint(): Promise<Omit<Checkpoint, "channel_values">>;
  metadata(): Promise<CheckpointMetadata>;
}

interface Header {
  readonly parent: string | null;
  readonly leaf?: string | null;
  readonly reach?: number;
  readonly types: readonly [string, string];
  readonly channels: readonly ChannelRef[];
}

type NewCheckpoint = Pick<StoredCheckpoint, "parentId" | "leaf" | "channels" | "frames">;

export async function packCheckpoint(
  serde: SerializerProtocol,
  { channel_values: _values, ...checkpoint }: Checkpoint,
  metadata: CheckpointMetadata,
  { parentId, leaf, channels, frames }: NewCheckpoint,
): Promise<Uint8Array> {
  const [type, bytes] = await serde.dumpsTyped(checkpoint);
  const [metadataType, metadataBytes] = await serde.dumpsTyped(metadata);
  const reach = reachOf(metadata);
  const header: Header = {
    parent: parentId,
    ...(leaf === undefined ? {} : { leaf }),
    ...(reach === 0 ? {} : { reach }),
    types: [type, metadataType],
    channels,
  };
  return packFrames(header, [bytes, metadataBytes, ...frames]);
}

/** Reads what `packCheckpoint` wrote. Errors: `CORRUPT_STATE`. */
export function unpackCheckpoint(
  serde: SerializerProtocol,
  id: string,
  { value, version }: Pick<StoredRecord, "value" | "version">,
): StoredCheckpoint {
  const { header, frames } = unpackFrames<Header>(value, id);
  const [checkpoint, metadata, ...inline] = frames as [Uint8Array, Uint8Array, ...Uint8Array[]];
  return {
    id,
    version,
    parentId: header.parent,
    leaf: header.leaf,
    reach: header.reach ?? 0,
    channels: header.channels,
    frames: inline,
    checkpoint: () => serde.loadsTyped(header.types[0], checkpoint),
    metadata: () => serde.loadsTyped(header.types[1], metadata),
  };
}

// A delta channel counts the supersteps since it was last stored whole; there are as many checkpoints at most.
function reachOf({ counters_since_delta_snapshot: counters = {} }: CheckpointMetadata): number {
  return Math.max(0, ...Object.values(counters).map(([, supersteps]) => supersteps + 1));
}
