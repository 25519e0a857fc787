import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { ReadValue } from "./segments.js";
import { elementsOf, type Segment, type SegmentedList } from "./segments.js";

/** Where a channel's value stands: in the checkpoint's own record, in one of its own, or, for a list, in several. */
export type ValueRef =
  | { readonly type: string; readonly frame: number }
  | { readonly whole: string }
  | { readonly list: readonly Segment[]; readonly skip?: number };

/** A channel of a checkpoint, with the version that its value has. */
export type ChannelRef = readonly [name: string, version: number | string | null, value: ValueRef];

/** The channels of a checkpoint, and the values that stand in its own record. */
export interface StoredChannels {
  readonly channels: readonly ChannelRef[];
  readonly frames: readonly Uint8Array[];
}

/** The segments of a value; none for one in the checkpoint's own record. */
export function segmentsOf(ref: ValueRef | null): SegmentedList {
  if (ref === null || "frame" in ref) return { segments: [], skip: 0 };
  return "whole" in ref ? { segments: [[ref.whole, 1]], skip: 0 } : { segments: ref.list, skip: ref.skip ?? 0 };
}

/** The keys of the records that a checkpoint's channels stand in. */
export function valueKeys(channels: readonly ChannelRef[]): string[] {
  return channels.flatMap(([, , value]) => segmentsOf(value).segments.map(([key]) => key));
}

/** Reads the values of channels. Null when one of them is gone. */
export async function decodeChannels(
  serde: SerializerProtocol,
  { channels, frames }: StoredChannels,
  read: ReadValue,
): Promise<Map<string, unknown> | null> {
  const values = await Promise.all(channels.map(([, , ref]) => decodeValue(serde, ref, frames, read)));
  if (values.includes(GONE)) return null;
  return new Map(channels.map(([name], index) => [name, values[index]]));
}

const GONE = Symbol("gone");

async function decodeValue(
  serde: SerializerProtocol,
  ref: ValueRef,
  frames: readonly Uint8Array[],
  read: ReadValue,
): Promise<unknown> {
  if ("frame" in ref) return serde.loadsTyped(ref.type, frames[ref.frame] as Uint8Array);
  const { segments, skip } = segmentsOf(ref);
  const keys = segments.map(([key]) => key);
  const records = await Promise.all(keys.map(read));
  const elements: unknown[] = [];
  for (const [index, record] of records.entries()) {
    if (record === null) return GONE;
    for (const [type, bytes] of elementsOf(record, keys[index] as string))
      elements.push(await serde.loadsTyped(type, bytes));
  }
  return "list" in ref ? elements.slice(skip) : elements[0];
}
