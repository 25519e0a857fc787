import {
  type CheckpointPendingWrite,
  compareWritesSortKeys,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { packFrames, StemmaError, unpackFrames } from "@stemma/model";
import type { RecordStore } from "@stemma/store";
import { allPages } from "../../item-history.js";
import { keyOf, namesOf, type Place, scopeOf } from "./keys.js";

interface Header {
  readonly path: string;
  /** Of each write its number (negative for errors, interrupts and the like), its channel and its type. */
  readonly writes: readonly (readonly [index: number, channel: string, type: string])[];
}

interface StoredWrite {
  readonly index: number;
  readonly channel: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/**
 * Adds what a task wrote to a checkpoint. A write whose number is known stays as it was; one of an error, an interrupt or
 * the like is replaced.
 */
export async function addWrites(
  records: RecordStore,
  serde: SerializerProtocol,
  place: Place,
  checkpointId: string,
  { writes, taskId, path }: { writes: readonly PendingWrite[]; taskId: string; path: string },
): Promise<void> {
  const scope = scopeOf(place, "writes");
  const key = keyOf(place.namespace, checkpointId, taskId);
  const added = await Promise.all(
    writes.map(async ([channel, value], index): Promise<StoredWrite> => {
      const [type, bytes] = await serde.dumpsTyped(value);
      // Not `in`: a channel may be called "constructor".
      const special = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
      return { index: special ?? index, channel, type, bytes };
    }),
  );
  // Nearly always the task has written nothing before.
  for (let before: { path: string; writes: StoredWrite[]; version: number } | null = null; ; ) {
    const value = pack(before?.path ?? path, merge(before?.writes ?? [], added));
    try {
      await records.set(scope, key, value, { expectedVersion: before?.version ?? 0 });
      return;
    } catch (error) {
      if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
    }
    const record = await records.get(scope, key);
    before = record === null ? null : { ...unpack(record.value, key), version: record.version };
  }
}

/** The writes to a checkpoint, in the order in which they are applied; of one channel where that is named. */
export async function readWrites(
  records: RecordStore,
  serde: SerializerProtocol,
  place: Place,
  checkpointId: string,
  channels?: ReadonlySet<string>,
): Promise<CheckpointPendingWrite[]> {
  const prefix = keyOf(place.namespace, checkpointId, "");
  const found: { taskId: string; path: string; write: StoredWrite }[] = [];
  for await (const { key, value } of allPages(records, scopeOf(place, "writes"), { prefix })) {
    const { path, writes } = unpack(value, key);
    const taskId = namesOf(key)[2] as string;
    for (const write of writes) {
      if (channels === undefined || channels.has(write.channel)) found.push({ taskId, path, write });
    }
  }
  const keyed = found.map((one) => ({ ...one, order: writesSortKey(one.path, one.taskId, one.write.index) }));
  keyed.sort((a, b) => compareWritesSortKeys(a.order, b.order));
  return Promise.all(
    keyed.map(async ({ taskId, write: { channel, type, bytes } }): Promise<CheckpointPendingWrite> => {
      return [taskId, channel, await serde.loadsTyped(type, bytes)];
    }),
  );
}

function merge(before: readonly StoredWrite[], added: readonly StoredWrite[]): StoredWrite[] {
  const merged = new Map(before.map((write) => [write.index, write]));
  for (const write of added) if (write.index < 0 || !merged.has(write.index)) merged.set(write.index, write);
  return [...merged.values()];
}

function pack(path: string, writes: readonly StoredWrite[]): Uint8Array {
  const header: Header = { path, writes: writes.map(({ index, channel, type }) => [index, channel, type]) };
  return packFrames(
    header,
    writes.map(({ bytes }) => bytes),
  );
}

function unpack(value: Uint8Array, key: string): { path: string; writes: StoredWrite[] } {
  const { header, frames } = unpackFrames<Header>(value, key);
  const writes = header.writes.map(([index, channel, type], at) => ({
    index,
    channel,
    type,
    bytes: frames[at] as Uint8Array,
  }));
  return { path: header.path, writes };
}
