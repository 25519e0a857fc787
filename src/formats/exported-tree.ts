import type { JsonObject } from "../model/json-object.js";
import { isTooDeep } from "../model/message.js";
import { parentsFirst, type TreeEntry } from "./parents-first.js";
import { type Place, type SessionBuilder, START } from "./session-builder.js";
import { type ParsedSession, type Position, TOO_DEEP } from "./session-file.js";

/** A message of an exported conversation, as it stands in the file. */
export interface ExportedEntry extends TreeEntry {
  readonly source: JsonObject;
  readonly at: Position;
}

/**
 * The pieces of a conversation that was read whole, parents first. `add` adds an entry of so many characters, and gives the
 * place of what hangs below it. `leafId` is the entry from which the conversation goes on.
 */
export function* piecesOfTree<E extends ExportedEntry>(
  builder: SessionBuilder,
  entries: readonly E[],
  leafId: string | undefined,
  add: (entry: E, above: Place, length: number) => Place,
): Generator<ParsedSession> {
  const places = new Map<string, Place>();
  for (const entry of parentsFirst(entries)) {
    if (builder.isFull) yield builder.piece(false);
    const above = places.get(entry.parentId ?? "") ?? START;
    places.set(entry.id, above);
    if (isTooDeep(entry.source)) builder.skip(entry.at, TOO_DEEP);
    else {
      const { length } = JSON.stringify(entry.source);
      builder.read(length);
      places.set(entry.id, add(entry, above, length));
    }
    builder.activeLeafId = places.get(leafId ?? "")?.id ?? undefined;
  }
  yield builder.piece(true);
}
