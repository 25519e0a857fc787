import type { ChannelVersions, Checkpoint, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { countOf, elementsOf, matchSegments, newSegment, planSegments, type Segment, type Typed } from "./segments.js";

/** Where a channel's value stands: in the checkpoint's own record, in one of its own, or, for a list, in several. */
export type ValueRef =
  | { readonly type: string; readonly frame: number }
  | { readonly whole: string }
  | { readonly list: readonly Segment[] };

/** A channel of a checkpoint, with the version that its value has. */
export type ChannelRef = readonly [name: string, version: number | string | null, value: ValueRef];

/** The channels of a checkpoint, and the values that stand in its own record. */
export interface StoredChannels {
  readonly channels: readonly ChannelRef[];
  readonly frames: readonly Uint8Array[];
}

/** The same, with the records that are to be written beside it. */
export interface EncodedChannels extends StoredChannels {
  /** Of a list, how many of its first elements are known to be those of the parent's. */
  readonly shared: ReadonlyMap<string, number>;
  readonly records: readonly { readonly key: string; readonly value: Uint8Array }[];
}

/** Reads the record of a value; null when it is gone. */
export type ReadValue = (key: string) => Promise<Uint8Array | null>;

/** Bytes of a value that stands in the checkpoint's own record. A record of its own takes about as many. */
const INLINE_BYTES = 256;

/**
 * Writes the channels of a checkpoint. What is as it was in the parent is named, not written again; of a list that grew,
 * only what was added is written. A channel that is neither in `newVersions` nor in the parent is left out, unless a
 * parent was named: then that is gone.
 */
export async function encodeChannels(
  serde: SerializerProtocol,
  checkpoint: Checkpoint,
  newVersions: ChannelVersions,
  parent: StoredChannels | null,
  parentId: string | null,
): Promise<EncodedChannels> {
  const writer = new ChannelWriter(serde, new Map(parent?.channels.map((channel) => [channel[0], channel])), parent);
  for (const [name, value] of Object.entries(checkpoint.channel_values)) {
    const version = checkpoint.channel_versions[name] ?? null;
    if (!Object.hasOwn(newVersions, name) && writer.inherit(name, version)) continue;
    if (Object.hasOwn(newVersions, name) || parentId !== null) await writer.write(name, version, value);
  }
  return writer;
}

class ChannelWriter implements EncodedChannels {
  readonly channels: ChannelRef[] = [];
  readonly frames: Uint8Array[] = [];
  readonly shared = new Map<string, number>();
  readonly records: { key: string; value: Uint8Array }[] = [];

  constructor(
    private readonly serde: SerializerProtocol,
    private readonly known: ReadonlyMap<string, ChannelRef>,
    private readonly parent: StoredChannels | null,
  ) {}

  /** Takes a channel over from the parent. False when that has none of this version. */
  inherit(name: string, version: number | string | null): boolean {
    const before = this.known.get(name);
    if (before === undefined || before[1] !== version) return false;
    const [, , value] = before;
    if (!("frame" in value)) this.channels.push(before);
    else this.#putInline(name, version, [value.type, this.parent?.frames[value.frame] as Uint8Array]);
    return true;
  }

  async write(name: string, version: number | string | null, value: unknown): Promise<void> {
    const before = this.known.get(name)?.[2] ?? null;
    if (Array.isArray(value)) {
      const elements = await Promise.all(Array.from(value, (element) => this.serde.dumpsTyped(element)));
      if (elements.reduce((sum, [, bytes]) => sum + bytes.length, 0) > INLINE_BYTES) {
        const segments = before !== null && "list" in before ? before.list : [];
        this.channels.push([name, version, { list: await this.#writeList(name, elements, segments) }]);
        return;
      }
    }
    const typed = await this.serde.dumpsTyped(value);
    if (typed[1].length <= INLINE_BYTES) {
      this.#putInline(name, version, typed);
      return;
    }
    const segments = before !== null && "whole" in before ? [[before.whole, 1] as const] : [];
    const [[key]] = (await this.#writeList(name, [typed], segments)) as [Segment];
    this.channels.push([name, version, { whole: key }]);
  }

  #putInline(name: string, version: number | string | null, [type, bytes]: Typed): void {
    this.channels.push([name, version, { type, frame: this.frames.push(bytes) - 1 }]);
  }

  async #writeList(name: string, elements: readonly Typed[], before: readonly Segment[]): Promise<Segment[]> {
    const matched = await matchSegments(elements, before);
    this.shared.set(name, countOf(matched));
    const { kept, from } = planSegments(matched, elements.length);
    if (from === elements.length) return [...kept];
    const { segment, value } = await newSegment(elements.slice(from));
    this.records.push({ key: segment[0], value });
    return [...kept, segment];
  }
}

/** The keys of the records that a checkpoint's channels stand in. */
export function valueKeys(channels: readonly ChannelRef[]): string[] {
  return channels.flatMap(([, , value]) =>
    "list" in value ? value.list.map(([key]) => key) : "whole" in value ? [value.whole] : [],
  );
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
  const keys = "list" in ref ? ref.list.map(([key]) => key) : [ref.whole];
  const records = await Promise.all(keys.map(read));
  const elements: unknown[] = [];
  for (const [index, record] of records.entries()) {
    if (record === null) return GONE;
    for (const [type, bytes] of elementsOf(record, keys[index] as string))
      elements.push(await serde.loadsTyped(type, bytes));
  }
  return "list" in ref ? elements : elements[0];
}
