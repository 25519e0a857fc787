import { estimateStringTokens } from "@stemma/model";
import type { ListedBlock } from "@stemma/store";
import type { EntryList, MemoryBlock, MemoryView, OwnerList, VersionList, WriteList } from "../api.js";
import { blockKey, entryScope, type MemoryPlace, ownerOf, placeOf } from "../options.js";
import { read, type StudioCall, sessionOf } from "../route.js";

const USUAL_NAMES = 100;
const MOST_NAMES = 500;

export const memoryRoutes = [
  read("owners", owners),
  read("memory", memory),
  read("entries", entries),
  read("versions", versions),
  read("writes", writes),
];

async function owners({ store, fields }: StudioCall): Promise<OwnerList> {
  const kind = fields.oneOf("kind", ["user", "key"]);
  const limit = fields.limit(USUAL_NAMES, MOST_NAMES);
  if (store.userId !== undefined && kind === "key") return { owners: [], next: null };
  const found = await store.blocks.owners(kind, { after: fields.optionalText("after"), limit: limit + 1 });
  const { shown, last } = cut(found, limit);
  return { owners: shown, next: last };
}

async function memory(call: StudioCall): Promise<MemoryView> {
  const { store, scope } = await placeIn(call);
  const [blocks, collections] = await Promise.all([store.blocks.list(scope), store.entries.labels(scope)]);
  return { blocks: blocks.map(memoryBlock), collections };
}

async function entries(call: StudioCall): Promise<EntryList> {
  const { fields } = call;
  const place = await placeIn(call);
  const limit = fields.limit(USUAL_NAMES, MOST_NAMES);
  const found = await place.store.entries.list(entryScope(place, fields.text("label")), {
    prefix: fields.optionalText("prefix"),
    after: fields.optionalText("after"),
    limit: limit + 1,
  });
  const { shown, last } = cut(found, limit);
  return { entries: shown, next: last?.key ?? null };
}

async function versions(call: StudioCall): Promise<VersionList> {
  const { fields } = call;
  const place = await placeIn(call);
  const label = fields.text("label");
  const key = fields.optionalText("entry");
  const { blocks, entries } = place.store;
  return {
    versions: await (key === undefined
      ? blocks.versions(blockKey(place, label))
      : entries.versions(entryScope(place, label), key)),
  };
}

async function writes(call: StudioCall): Promise<WriteList> {
  const { store, fields } = call;
  const { id } = await sessionOf(call);
  const found = await store.session(id).writes(fields.text("message"));
  // What belongs to a key is not one user's.
  return { writes: store.userId === undefined ? found : found.filter(({ owner }) => !("key" in owner)) };
}

function placeIn({ store, fields }: StudioCall): Promise<MemoryPlace> {
  return placeOf(store, ownerOf(fields));
}

/** A block as the page shows it. */
export function memoryBlock(block: ListedBlock): MemoryBlock {
  const { label, content, version, updatedAt } = block;
  return { label, content, tokens: estimateStringTokens(content), version, updatedAt };
}

// The first of what was found, and the last of them where there are more.
function cut<T>(found: readonly T[], limit: number): { shown: T[]; last: T | null } {
  const shown = found.slice(0, limit);
  return { shown, last: found.length > limit ? (shown.at(-1) ?? null) : null };
}
