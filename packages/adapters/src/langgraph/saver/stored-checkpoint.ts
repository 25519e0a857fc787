import type { Checkpoint, CheckpointMetadata, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { packFrames, unpackFrames } from "@stemma/model";
import type { StoredRecord } from "@stemma/store";
import type { ChannelRef, StoredChannels } from "./keys.js";

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

export type NewCheckpoint = Pick<StoredCheckpoint, "parentId" | "leaf" | "channels" | "frames">;

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
