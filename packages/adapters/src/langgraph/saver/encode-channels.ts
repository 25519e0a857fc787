import type { ChannelVersions, Checkpoint, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import {
  findShared,
  type KnownValues,
  newSegment,
  planSegments,
  type Segment,
  type SegmentedList,
  type SharedList,
  type Typed,
} from "./segments.js";
import { type ChannelRef, type StoredChannels, segmentsOf } from "./values.js";

/** The channels of a checkpoint, with the records that are to be written beside it. */
export interface EncodedChannels extends StoredChannels {
  /** Of each list that was written, what it has of the parent's. */
  readonly shared: ReadonlyMap<string, SharedList>;
  readonly records: readonly { readonly key: string; readonly value: Uint8Array }[];
}

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
  values: KnownValues,
): Promise<EncodedChannels> {
  const known = new Map(parent?.channels.map((channel) => [channel[0], channel]));
  const writer = new ChannelWriter(serde, known, parent, values);
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
  readonly shared = new Map<string, SharedList>();
  readonly records: { key: string; value: Uint8Array }[] = [];

  constructor(
    private readonly serde: SerializerProtocol,
    private readonly known: ReadonlyMap<string, ChannelRef>,
    private readonly parent: StoredChannels | null,
    private readonly values: KnownValues,
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
        const { segments, skip } = await this.#writeList(name, elements, segmentsOf(before));
        this.channels.push([name, version, skip === 0 ? { list: segments } : { list: segments, skip }]);
        return;
      }
    }
    const typed = await this.serde.dumpsTyped(value);
    if (typed[1].length <= INLINE_BYTES) {
      this.#putInline(name, version, typed);
      return;
    }
    const { segments } = await this.#writeList(name, [typed], segmentsOf(before));
    this.channels.push([name, version, { whole: (segments[0] as Segment)[0] }]);
  }

  #putInline(name: string, version: number | string | null, [type, bytes]: Typed): void {
    this.channels.push([name, version, { type, frame: this.frames.push(bytes) - 1 }]);
  }

  async #writeList(name: string, elements: readonly Typed[], before: SegmentedList): Promise<SegmentedList> {
    const shared = await findShared(elements, before, this.values);
    this.shared.set(name, shared);
    const { segments, skip, from } = planSegments(shared, elements.length);
    if (from === elements.length) return { segments, skip };
    const { segment, value } = await newSegment(elements.slice(from));
    this.records.push({ key: segment[0], value });
    return { segments: [...segments, segment], skip };
  }
}
