import { quote } from "../errors.js";
import type { JsonObject } from "../model/json-object.js";
import { isTooDeep } from "../model/json-object.js";
import { Lineage, missingParent } from "./lineage.js";
import { parentsFirst, type TreeEntry } from "./parents-first.js";
import { type Place, type SessionBuilder, START } from "./session-builder.js";
import { type ParsedSession, type Position, TOO_DEEP } from "./session-file.js";

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
