import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { invalid } from "@stemma/model";
import type { RecordScope } from "@stemma/store";
import { elementsOf, type ReadValue, type Segment, type SegmentedList } from "./segments.js";

/** A thread, which is the session with the same id, and a namespace in it: "" for the graph, others for its subgraphs. */
export interface Place {
  readonly threadId: string;
  readonly namespace: string;
}

/** The fields of a runnable's configuration about checkpoints; any of them may be missing. */
export interface Configurable {
  readonly thread_id?: unknown;
  readonly checkpoint_ns?: unknown;
  readonly checkpoint_id?: unknown;
  readonly thread_ts?: unknown;
  readonly checkpoint_map?: Readonly<Record<string, string>> | undefined;
}

export const LABELS = {
  /** A checkpoint, by namespace and id. */
  checkpoints: "langgraph",
  /** The writes of a task, by namespace, checkpoint and task. */
  writes: "langgraph-writes",
  /** Values of channels, by namespace and a key of their own. */
  values: "langgraph-values",
  /** Which namespaces began under a checkpoint of the graph, by that checkpoint and namespace. */
  children: "langgraph-children",
  /** Which values the checkpoints had that were removed together, by namespace and a key of its own. */
  removed: "langgraph-removed",
} as const;

export const scopeOf = ({ threadId }: Pick<Place, "threadId">, label: keyof typeof LABELS): RecordScope => ({
  sessionId: threadId,
  label: LABELS[label],
});

/** A key of several names; a name with "/" in it is one name still. */
export function keyOf(...names: readonly string[]): string {
  return names.map(escapeName).join("/");
}

export function namesOf(key: string): string[] {
  return key.split("/").map(readName);
}

/** The thread and namespace of a configuration. Errors: `INVALID_ARGUMENT` without a thread. */
export function placeOf(configurable: Configurable | undefined): Place {
  const threadId = configurable?.thread_id;
  if (typeof threadId !== "string" || threadId === "") {
    const message =
      'A checkpoint belongs to a thread: pass { configurable: { thread_id: "…" } } to invoke or stream, with a text that is not empty.';
    throw invalid(message);
  }
  return { threadId, namespace: textOr(configurable?.checkpoint_ns, "") };
}

/** The checkpoint that a configuration names; null for the latest one. */
export function checkpointIdOf(configurable: Configurable | undefined): string | null {
  const id = textOr(configurable?.checkpoint_id, "") || textOr(configurable?.thread_ts, "");
  return id === "" ? null : id;
}

export function configOf({ threadId, namespace }: Place, checkpointId: string) {
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

/** Characters that separate names in a key, that escape, or that no database keeps: NUL and halves of surrogate pairs. */
const ESCAPED = /[%/\0\ud800-\udfff]/gu;

/** A name as it stands in a key of several: any text, without "/". */
export function escapeName(name: string): string {
  return name.replace(ESCAPED, (character) => `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function readName(escaped: string): string {
  return escaped.replace(/%([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Where a channel's value stands: in the checkpoint's own record, in one of its own, or, for a list, in several. */
type ValueRef =
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
