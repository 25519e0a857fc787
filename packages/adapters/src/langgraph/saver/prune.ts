import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { decodeJson, encodeJson } from "@stemma/model";
import type { KeptWrite, RecordStore, Store, StoredRecord } from "@stemma/store";
import { allPages } from "../../item-history.js";
import { keyOf, type LABELS, namesOf, type Place, scopeOf } from "./keys.js";
import { type StoredCheckpoint, unpackCheckpoint } from "./stored-checkpoint.js";
import { valueKeys } from "./values.js";

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
export async function pruneCheckpoints(
  store: Store,
  serde: SerializerProtocol,
  place: Place,
  keep: number,
): Promise<void> {
  const notes = await readRemoved(store.records, place);
  const { kept, removed, isAll } = await divide(store.records, serde, place, keep);
  const gone: KeptWrite[] = [];
  // A checkpoint that was not looked at may have any of the values.
  if (isAll) gone.push(...(await unusedValues(store.records, serde, place, notes, [...kept, ...removed])));
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
  const kept: StoredCheckpoint[] = [];
  const removed: StoredCheckpoint[] = [];
  // How many checkpoints before one are still needed, by the checkpoint's id.
  const reach = new Map<string, number>();
  const most = Math.max(REMOVED, Math.ceil(keep / 4));
  const options = { prefix: keyOf(place.namespace, ""), descending: true };
  const pageSize = Math.min(keep + most, 200);
  for await (const record of allPages(records, scopeOf(place, "checkpoints"), options, pageSize)) {
    const checkpoint = unpackCheckpoint(serde, namesOf(record.key)[1] as string, record);
    const isNew = kept.length < keep;
    const needed = Math.max(isNew ? checkpoint.reach : 0, reach.get(checkpoint.id) ?? 0);
    if (!isNew && !reach.has(checkpoint.id)) {
      if (removed.length === most) return { kept, removed, isAll: false };
      removed.push(checkpoint);
      continue;
    }
    kept.push(checkpoint);
    if (needed > 0 && checkpoint.parentId !== null) {
      reach.set(checkpoint.parentId, Math.max(needed - 1, reach.get(checkpoint.parentId) ?? 0));
    }
  }
  return { kept, removed, isAll: true };
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

/** The notes of a namespace. */
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
