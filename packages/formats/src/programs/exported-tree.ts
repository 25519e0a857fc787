import {
  forEachYielding,
  inPieces,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  nameOf,
  type Pieces,
  quote,
  yieldIfDue,
} from "@stemma/model";
import { Lineage, missingParent } from "../lineage.js";
import { type Place, SessionBuilder, START } from "../session-builder.js";
import {
  type ImportFormat,
  type ParsedSession,
  type Position,
  type Skipped,
  TOO_DEEP,
} from "../stemma/session-file.js";
/** A message of an exported conversation, as it stands in the file. */
export interface ExportedEntry {
  readonly id: string;
  readonly parentId: string | null;
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
export async function* piecesOfTree<E extends ExportedEntry>(
  builder: SessionBuilder,
  entries: readonly E[],
  leafId: string | undefined,
  add: (entry: E, above: Place, length: number) => Place,
): AsyncGenerator<ParsedSession> {
  const places = new Map<string, Place>();
  const lineage = new Lineage<Place>(
    START,
    entries.some(({ parentId }) => parentId !== null),
  );
  const ordered = await inPieces(parentsFirst(entries));
  const known = new Set(ordered);
  for (const { id, at } of entries.filter((entry) => !known.has(entry)))
    builder.skip(at, `the id ${quote(id)} stands in the file twice; the first is kept`);
  for (const entry of ordered) {
    await yieldIfDue();
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

/**
 * The entries so that each stands behind its parent, otherwise in their order. Of two with one id the first is taken. What
 * hangs below itself begins with the entry that is come to first.
 */
function* parentsFirst<E extends ExportedEntry>(entries: readonly E[]): Pieces<E[]> {
  const byId = new Map<string, E>();
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  const ordered = new Set<E>();
  for (const entry of byId.values()) {
    yield;
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

interface Exported {
  readonly id: string | undefined;
  readonly title: unknown;
  readonly model?: unknown;
  readonly parentSessionId?: string | undefined;
  readonly metadata?: JsonObject | null | undefined;
  readonly rest: JsonObject;
  readonly messages: Iterable<ExportedMessage>;
  /** The message from which the conversation goes on, of those with these ids. Default: the last one. */
  readonly leaf?: ((ids: readonly string[]) => string | undefined) | undefined;
}

interface ExportedMessage {
  /** It is a message where this is a text, and `source` an object. */
  readonly id: unknown;
  /** Undefined for the message before it. */
  readonly parent: unknown;
  readonly source: unknown;
  /** Where it stands in the conversation, as a JSON path. */
  readonly path: string;
}

/** A program whose exports are conversations, each one object that is read whole. */
interface ExportProgram extends Pick<ImportFormat, "name" | "about" | "recognises"> {
  /** Finds what an object says; null for one that is no conversation. */
  readonly open: (conversation: JsonObject) => Exported | null;
  /** Why an entry is left out that is no message. */
  readonly noMessage: string;
  /** Adds an entry of so many characters. Gives the place of what hangs below it. */
  readonly add: (builder: SessionBuilder, entry: ExportedEntry, above: Place, length: number) => Place;
}

/**
 * The format of a program's exports: a conversation, or a list of them. What is wrong between two conversations is told with the
 * next one.
 */
export function exportFormat(program: ExportProgram): ImportFormat {
  const { name, about, recognises } = program;
  return {
    name,
    about,
    recognises,
    async *read(items, file) {
      let skipped: Skipped[] = [];
      for await (const item of items) {
        if (item.kind === "listEnd") continue;
        const found = item.kind === "value" && isJsonObject(item.value) ? program.open(item.value) : null;
        if (found?.id === undefined) {
          skipped.push({ ...item.at, why: item.kind === "problem" ? item.why : "not a conversation" });
          continue;
        }
        for await (const piece of piecesOf(program, { ...found, id: found.id }, item.at)) {
          piece.skipped.unshift(...skipped);
          skipped = [];
          yield piece;
        }
      }
      if (skipped.length === 0) return;
      yield { id: file.stem, name: file.stem, source: name, messages: [], compactions: [], skipped };
    },
  };
}

async function* piecesOf(
  { name, noMessage, add }: ExportProgram,
  { id, title, model, parentSessionId, metadata = null, rest, messages, leaf }: Exported & { readonly id: string },
  at: Position,
): AsyncGenerator<ParsedSession> {
  const builder = new SessionBuilder({ id, source: name, parentSessionId });
  builder.names.give(title);
  builder.model = nameOf(model);
  builder.describe(metadata);
  builder.keep("conversation", rest, at, null);
  const entries: ExportedEntry[] = [];
  await forEachYielding(messages, ({ id, parent, source, path }) => {
    const place = { ...at, path: `${at.path ?? "$"}${path}` };
    if (!isJsonObject(source) || typeof id !== "string") return builder.skip(place, noMessage);
    const parentId = parent === undefined ? (entries.at(-1)?.id ?? null) : parentIdOf(parent);
    entries.push({ id, parentId, source, at: place });
  });
  const ids = entries.map((entry) => entry.id);
  const leafId = leaf === undefined ? ids.at(-1) : leaf(ids);
  yield* piecesOfTree(builder, entries, leafId, (entry, above, length) => add(builder, entry, above, length));
}

/** A message for each item of a list, made when it is come to: a list may be long. */
export function* messagesOf<T>(
  list: Iterable<T>,
  make: (item: T, index: number) => ExportedMessage,
): Generator<ExportedMessage> {
  let index = 0;
  for (const item of list) {
    yield make(item, index);
    index += 1;
  }
}
