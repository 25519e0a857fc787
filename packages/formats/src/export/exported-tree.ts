import { isJsonObject, isTooDeep, type JsonObject, quote } from "@stemma/model";
import { Lineage, missingParent } from "../lineage.js";
import { type Place, type SessionBuilder, START } from "../session-builder.js";
import {
  type FileInfo,
  type Item,
  type ParsedSession,
  type Position,
  type Skipped,
  TOO_DEEP,
} from "../stemma/session-file.js";
/** A message of an exported conversation, as it stands in the file. */
export interface ExportedEntry extends TreeEntry {
  readonly source: JsonObject;
  readonly at: Position;
}

/** The parent that programs name where a message has none. */
const NO_PARENT = /^0{8}-0{4}-[04]0{3}-[08]0{3}-0{12}$/;

/** The parent that an entry of an export names; null for none. */
export function parentIdOf(parent: unknown): string | null {
  return typeof parent === "string" && parent !== "" && !NO_PARENT.test(parent) ? parent : null;
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
  const lineage = new Lineage<Place>(
    START,
    entries.some(({ parentId }) => parentId !== null),
  );
  const ordered = parentsFirst(entries);
  const known = new Set(ordered);
  for (const { id, at } of entries.filter((entry) => !known.has(entry)))
    builder.skip(at, `the id ${quote(id)} stands in the file twice; the first is kept`);
  for (const entry of ordered) {
    if (builder.isFull) yield builder.piece(false);
    const { place: above, isMissing } = lineage.above(entry.parentId, (id) => places.get(id));
    // Where nothing came before, nothing is hidden: an export leaves out the root that it began with.
    if (isMissing && above.id !== null) builder.skip(entry.at, missingParent(entry.parentId ?? "", true));
    places.set(entry.id, above);
    if (isTooDeep(entry.source)) builder.skip(entry.at, TOO_DEEP);
    else {
      const { length } = JSON.stringify(entry.source);
      builder.read(length);
      places.set(entry.id, add(entry, above, length));
    }
    lineage.last = places.get(entry.id) ?? above;
    builder.activeLeafId = places.get(leafId ?? "")?.id ?? undefined;
  }
  yield builder.piece(true);
}

/** Something of a file that names what it hangs below. */
interface TreeEntry {
  id: string;
  parentId: string | null;
}

/**
 * The entries so that each stands behind its parent, otherwise in their order. Of two with one id the first is taken. What
 * hangs below itself begins with the entry that is come to first.
 */
function parentsFirst<E extends TreeEntry>(entries: readonly E[]): E[] {
  const byId = new Map<string, E>();
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  const ordered = new Set<E>();
  for (const entry of byId.values()) {
    const above: E[] = [];
    const path = new Set<E>();
    let at: E | undefined = entry;
    while (at !== undefined && !ordered.has(at) && !path.has(at)) {
      path.add(at);
      above.push(at);
      at = at.parentId === null ? undefined : byId.get(at.parentId);
    }
    // Of a circle, the entry that was come to first is its beginning.
    if (at !== undefined && path.has(at)) ordered.add(at);
    for (const next of above.reverse()) ordered.add(next);
  }
  return [...ordered];
}

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
