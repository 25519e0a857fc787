// One write of a checkpoint, whole: what of it becomes messages, what becomes records, and what is pruned behind it.
import type { BaseMessage } from "@langchain/core/messages";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { decodeJson, encodeJson, Recent, StemmaError } from "@stemma/model";
import type { KeptWrite, RecordStore, Store, StoredRecord } from "@stemma/store";
import { allPages } from "../../item-history.js";
import { isLangChainMessage, type MirroredMessages, type MirrorPlan, planMirror } from "../mirror/mirror.js";
import { type CheckpointReader, packCheckpoint, type StoredCheckpoint, unpackCheckpoint } from "./checkpoint-reader.js";
import {
  type ChannelRef,
  type Configurable,
  checkpointIdOf,
  keyOf,
  type LABELS,
  namesOf,
  type Place,
  type StoredChannels,
  scopeOf,
  segmentsOf,
  valueKeys,
} from "./keys.js";
import {
  countOf,
  findShared,
  type KnownValues,
  newSegment,
  planSegments,
  type Segment,
  type SegmentedList,
  type SharedList,
  type Typed,
} from "./segments.js";

interface WriterOptions {
  readonly keep: number | undefined;
  /** The channel that is mirrored; false for none. */
  readonly channel: string | false;
}

interface Request {
  readonly place: Place;
  readonly configurable: Configurable;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
}

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

/** The channels of a checkpoint, with the records that are to be written beside it. */
interface EncodedChannels extends StoredChannels {
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
async function encodeChannels(
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

/** So many checkpoints are removed at once, or a quarter of those that stay: a thread that has far too many loses them in several puts. */
const REMOVED = 64;

/** The namespace of a subgraph that one task of one checkpoint runs: `node:task`, unlike that of one with a memory of its own. */
const OF_ONE_TASK = /:/;

/**
 * Removes the older checkpoints of a namespace but for the newest `keep`, and those that a delta channel of these is made
 * of; with each what was written to it, and the checkpoints of the subgraphs that ran under it. The values that no other
 * one has go with the next call: by then every checkpoint that was made of a removed one can be seen. What it reads
 * grows with `keep`, not with the history.
 */
async function pruneCheckpoints(store: Store, serde: SerializerProtocol, place: Place, keep: number): Promise<void> {
  const notes = await readRemoved(store.records, place);
  const { retained, removed, isAll } = await divide(store.records, serde, place, keep);
  const gone: KeptWrite[] = [];
  // A checkpoint that was not looked at may have any of the values.
  if (isAll) gone.push(...(await unusedValues(store.records, serde, place, notes, [...retained, ...removed])));
  const values = removed.flatMap(({ channels }) => valueKeys(channels).map((key) => keyOf(place.namespace, key)));
  for (const { id } of removed) {
    const prefix = keyOf(place.namespace, id, "");
    gone.push(deletion(place, "checkpoints", keyOf(place.namespace, id)));
    gone.push(...(await deletions(store.records, place, "writes", prefix)));
    if (place.namespace === "") gone.push(...(await childDeletions(store.records, place, id, values)));
  }
  if (values.length > 0) gone.push(noteRemoved(place, values));
  if (gone.length > 0) await store.writeTogether(gone);
}

// The newest first: those that stay, and those that go, as many as may go at once.
async function divide(records: RecordStore, serde: SerializerProtocol, place: Place, keep: number) {
  const retained: StoredCheckpoint[] = [];
  const removed: StoredCheckpoint[] = [];
  // How many checkpoints before one are still needed, by the checkpoint's id.
  const reach = new Map<string, number>();
  const most = Math.max(REMOVED, Math.ceil(keep / 4));
  const options = { prefix: keyOf(place.namespace, ""), descending: true };
  const pageSize = Math.min(keep + most, 200);
  for await (const record of allPages(records, scopeOf(place, "checkpoints"), options, pageSize)) {
    const checkpoint = unpackCheckpoint(serde, namesOf(record.key)[1] as string, record);
    const isNew = retained.length < keep;
    const needed = Math.max(isNew ? checkpoint.reach : 0, reach.get(checkpoint.id) ?? 0);
    if (!isNew && !reach.has(checkpoint.id)) {
      if (removed.length === most) return { retained, removed, isAll: false };
      removed.push(checkpoint);
      continue;
    }
    retained.push(checkpoint);
    if (needed > 0 && checkpoint.parentId !== null) {
      reach.set(checkpoint.parentId, Math.max(needed - 1, reach.get(checkpoint.parentId) ?? 0));
    }
  }
  return { retained, removed, isAll: true };
}

// What the subgraphs left that ran under a checkpoint, but for their values, which are added to `values`. A subgraph that
// has a memory of its own is bounded by itself.
async function childDeletions(records: RecordStore, place: Place, checkpointId: string, values: string[]) {
  const gone: KeptWrite[] = [];
  for await (const { key } of allPages(records, scopeOf(place, "children"), { prefix: keyOf(checkpointId, "") })) {
    gone.push(deletion(place, "children", key));
    const namespace = namesOf(key)[1] as string;
    if (!OF_ONE_TASK.test(namespace)) continue;
    for (const label of ["checkpoints", "writes"] as const) {
      gone.push(...(await deletions(records, place, label, keyOf(namespace, ""))));
    }
    for await (const value of allPages(records, scopeOf(place, "values"), { prefix: keyOf(namespace, "") })) {
      values.push(value.key);
    }
  }
  return gone;
}

async function deletions(records: RecordStore, place: Place, label: keyof typeof LABELS, prefix: string) {
  const gone: KeptWrite[] = [];
  for await (const { key } of allPages(records, scopeOf(place, label), { prefix })) {
    gone.push(deletion(place, label, key));
  }
  return gone;
}

function deletion(place: Place, label: keyof typeof LABELS, key: string): KeptWrite {
  return { records: scopeOf(place, label), key, value: null };
}

/**
 * Notes which values the checkpoints had that are removed by the same write. A put that began before it may still make a
 * checkpoint of a removed one, with these values.
 */
function noteRemoved(place: Place, values: readonly string[]): KeptWrite {
  const key = keyOf(place.namespace, crypto.randomUUID());
  return { records: scopeOf(place, "removed"), key, value: encodeJson([...new Set(values)]) };
}

async function readRemoved(records: RecordStore, place: Place): Promise<StoredRecord[]> {
  const notes: StoredRecord[] = [];
  const prefix = keyOf(place.namespace, "");
  for await (const note of allPages(records, scopeOf(place, "removed"), { prefix })) notes.push(note);
  return notes;
}

/**
 * Removes the values of notes that no checkpoint has, and the notes. `checkpoints` are all those of the namespace, read after
 * the notes: a checkpoint that comes later has values of one of them, or new ones.
 */
async function unusedValues(
  records: RecordStore,
  serde: SerializerProtocol,
  place: Place,
  notes: readonly StoredRecord[],
  checkpoints: readonly StoredCheckpoint[],
): Promise<KeptWrite[]> {
  const unused = new Set(notes.flatMap(({ value }) => decodeJson(value) as string[]));
  const namespaces = new Set([...unused].map((key) => namesOf(key)[0] as string));
  for (const namespace of namespaces) {
    const present =
      namespace === place.namespace ? checkpoints : await checkpointsOf(records, serde, { ...place, namespace });
    for (const { channels } of present) for (const key of valueKeys(channels)) unused.delete(keyOf(namespace, key));
  }
  return [
    ...notes.map(({ key }) => ({ records: scopeOf(place, "removed"), key, value: null })),
    ...[...unused].map((key) => ({ records: scopeOf(place, "values"), key, value: null })),
  ];
}

async function checkpointsOf(records: RecordStore, serde: SerializerProtocol, place: Place) {
  const found: StoredCheckpoint[] = [];
  const prefix = keyOf(place.namespace, "");
  for await (const record of allPages(records, scopeOf(place, "checkpoints"), { prefix })) {
    found.push(unpackCheckpoint(serde, namesOf(record.key)[1] as string, record));
  }
  return found;
}
