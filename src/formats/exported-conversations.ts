import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { FileInfo, Item, ParsedSession, Position, Skipped } from "./session-file.js";

/**
 * The sessions of a list of conversations, each of which is one object, of which `read` gives the pieces; null for an object
 * that is none. What was wrong between two conversations is told with the next one.
 */
export async function* readExport(
  items: AsyncIterable<Item>,
  file: FileInfo,
  source: string,
  read: (conversation: JsonObject, at: Position) => Iterable<ParsedSession> | null,
): AsyncGenerator<ParsedSession> {
  let skipped: Skipped[] = [];
  for await (const item of items) {
    if (item.kind === "listEnd") continue;
    const pieces = item.kind === "value" && isJsonObject(item.value) ? read(item.value, item.at) : null;
    if (pieces === null) {
      skipped.push({ ...item.at, why: item.kind === "problem" ? item.why : "not a conversation" });
      continue;
    }
    for (const piece of pieces) {
      piece.skipped.unshift(...skipped);
      skipped = [];
      yield piece;
    }
  }
  if (skipped.length > 0) yield { id: file.stem, name: file.stem, source, messages: [], compactions: [], skipped };
}
