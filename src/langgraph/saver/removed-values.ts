import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { allPages } from "../../adapters/pages.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import type { KeptWrite, RecordStore, StoredRecord } from "../../storage/contract.js";
import { keyOf, namesOf, type Place, scopeOf } from "./keys.js";
import { type StoredCheckpoint, unpackCheckpoint } from "./stored-checkpoint.js";
import { valueKeys } from "./values.js";

/**
 * Notes which values the checkpoints had that are removed by the same write. A put that began before it may still make a
 * checkpoint of a removed one, with these values.
 */
export function noteRemoved(place: Place, values: readonly string[]): KeptWrite {
  const key = keyOf(place.namespace, crypto.randomUUID());
  return { records: scopeOf(place, "removed"), key, value: encodeJson([...new Set(values)]) };
}

/** The notes of a namespace. */
export async function readRemoved(records: RecordStore, place: Place): Promise<StoredRecord[]> {
  const notes: StoredRecord[] = [];
  const prefix = keyOf(place.namespace, "");
  for await (const note of allPages(records, scopeOf(place, "removed"), { prefix })) notes.push(note);
  return notes;
}

/**
 * Removes the values of notes that no checkpoint has, and the notes. `checkpoints` are all those of the namespace, read after
 * the notes: a checkpoint that comes later has values of one of them, or new ones.
 */
export async function unusedValues(
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
