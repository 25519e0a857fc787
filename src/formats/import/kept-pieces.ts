import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import { isJsonObject } from "../../model/json-object.js";
import { NAME_LIMITS } from "../../model/name-limits.js";
import { utf8Length } from "../../model/utf8.js";
import type { KeptWrite, RecordScope, Store } from "../../storage/contract.js";
import type { KeptPiece } from "../session-file.js";

/** The label of the records that hold, word for word, what a file says beside the messages. */
export const IMPORTED = "imported";

const BATCH = 200;

/** Writes the pieces that are not there yet. Each is a record of the session: `{ line, messageId, source }` as JSON. */
export async function keepPieces(store: Store, sessionId: string, pieces: readonly KeptPiece[]): Promise<void> {
  const records = scopeOf(sessionId);
  let writes: KeptWrite[] = [];
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await store.writeTogether(writes);
    writes = [];
  };
  for (const { key, source, at, messageId } of pieces) {
    if (!isKey(key) || (await store.records.get(records, key)) !== null) continue;
    const value = encodeJson({ line: at.line, messageId, source });
    writes.push({ records, key, value });
    if (writes.length >= BATCH) await flush();
  }
  await flush();
}

/** For ids that are no messages: the message that what follows such a piece of the file is attached to. */
export async function findPlaces(
  store: Store,
  sessionId: string,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const places = new Map<string, string>();
  for (const id of ids) {
    const record = isKey(id) ? await store.records.get(scopeOf(sessionId), id) : null;
    if (record === null) continue;
    const piece: unknown = decodeJson(record.value);
    if (isJsonObject(piece) && typeof piece.messageId === "string") places.set(id, piece.messageId);
  }
  return places;
}

/** How many pieces there are of each kind that a report counts. */
export function countKept(pieces: readonly KeptPiece[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { kind } of pieces) if (kind !== null) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function scopeOf(sessionId: string): RecordScope {
  return { sessionId, label: IMPORTED };
}

function isKey(key: string): boolean {
  return key !== "" && utf8Length(key) <= NAME_LIMITS.key && key.isWellFormed() && !key.includes("\0");
}
