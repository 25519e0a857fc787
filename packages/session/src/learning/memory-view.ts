// What a run of learning reads and writes: the blocks of a session, their entries, and what was forgotten of them.
import { foldLabel, type SessionMessage } from "@stemma/model";
import {
  type BlockScope,
  type KeptWrite,
  type ListedEntry,
  orderOf,
  type RememberedVersion,
  type Store,
} from "@stemma/store";
import type { LiveBlock } from "../context/live-block.js";
import { AgentSearchProvider, type EntryPlace } from "../context/providers/agent-search.js";
import { findDefaultScope } from "../context/providers/entry-scopes.js";
import { placeOfBlock, StoreContextProvider } from "../context/providers/store-context.js";
import { beginningOf, heldSince, readDate, type ShownEntries } from "./closing.js";
import { sameFactAs } from "./edited-text.js";
import type { EditedBlock, LearnBlock, LearnEdit, LearnEntry, LearnedWrite } from "./edits.js";
import { asSuccessor, contentKeysOf, entryKeysOf, isOver } from "./entry-keys.js";
import type { PresentText } from "./forgotten.js";
import { nearestEntries } from "./nearest-entries.js";

/** The blocks of a session that one transaction of its store can write: what is learned goes there. */
export function learnableBlocks(blocks: readonly LiveBlock[], store: Store): LiveBlock[] {
  return blocks.filter((block) => {
    const { provider } = block;
    if (provider instanceof StoreContextProvider) return orderOf(placeOfBlock(provider).store) === orderOf(store);
    const place = placeIn(block);
    return place !== null && orderOf(place.store) === orderOf(store);
  });
}

// Where a block keeps the entries that are learned; null for a block of text, and for one that may not be written.
const placeIn = ({ entryPlaces }: LiveBlock) => findDefaultScope(entryPlaces);

/** Blocks as a learn function is shown them. */
export async function describeBlocks(blocks: readonly LiveBlock[]): Promise<LearnBlock[]> {
  return Promise.all(
    blocks.map(async (block) => {
      const { label, description, patchSchema } = block.describeForTools();
      return {
        label,
        ...(description !== undefined && { description }),
        content: (await block.read()).content,
        maxTokens: block.cap,
        holdsEntries: block.provider instanceof AgentSearchProvider,
        ...(patchSchema !== undefined && { schema: patchSchema }),
      };
    }),
  );
}

/** Blocks as edits find them, and what the entries say that they name. */
export interface MemoryView {
  readonly blocks: readonly (EditedBlock & { readonly version: number })[];
  readonly entry: (label: string, key: string) => ListedEntry | null;
  /** The entries that say the same as the content of an edit for a new one, also those that have ended. */
  readonly same: (label: string, content: string) => readonly ListedEntry[];
}

/** Reads of what came before an entry, at most, to find the place of one that is told late. */
const MOST_BEFORE = 100;
/** Entries among which one that says the same is looked for, and the characters that are searched with. */
const LIKELY = 10;
const SEARCHED = 400;

/** Reads what edits are applied to. */
export async function readMemory(
  blocks: readonly LiveBlock[],
  edits: readonly LearnEdit[],
  shown: readonly LearnEntry[],
  dateOf: ShownEntries["dateOf"],
): Promise<MemoryView> {
  const entries = new Map<string, ListedEntry>();
  const same = new Map<string, readonly ListedEntry[]>();
  const edited = await Promise.all(
    blocks.map(async (block) => {
      const { label, folded, cap, document } = block;
      const { content, version = 0 } = await block.read();
      const place = placeIn(block);
      if (place !== null) {
        const read = new EntryReads(place, shown);
        for (const edit of edits) {
          if (foldLabel(edit?.label) !== folded) continue;
          const known = await read.named(edit, dateOf);
          const isNew = known === null && typeof edit.content === "string";
          const saying = isNew ? await read.saying(edit.content) : [];
          if (isNew) same.set(JSON.stringify([label, edit.content.trim()]), saying);
          if (edit.validFrom !== undefined) await read.behind(known === null ? saying : [known]);
        }
        for (const [key, entry] of read.found) entries.set(JSON.stringify([label, key]), entry);
      }
      return { label, content, version, cap, document, holdsEntries: place !== null };
    }),
  );
  return {
    blocks: edited,
    entry: (label, key) => entries.get(JSON.stringify([label, key])) ?? null,
    same: (label, content) => same.get(JSON.stringify([label, content])) ?? [],
  };
}

/** Reads of entries of one block, each once. */
class EntryReads {
  readonly found = new Map<string, ListedEntry>();
  readonly #read = new Set<string>();

  constructor(
    private readonly place: EntryPlace,
    private readonly shown: readonly LearnEntry[],
  ) {}

  /** Reads the entries that an edit names, and what came before those that began later. Gives the one that it writes; null for none. */
  async named(edit: LearnEdit, dateOf: ShownEntries["dateOf"]): Promise<ListedEntry | null> {
    const since = beginningOf(edit, dateOf);
    const left = keysIn(edit.supersedes);
    const most = left.length + MOST_BEFORE;
    for (let reads = 0; left.length > 0 && reads < most; reads += 1) {
      left.push(...(await this.#before(left.shift() ?? "", since ?? readDate(edit.validTo) ?? null)));
    }
    let written: ListedEntry | null = null;
    const [first = ""] = entryKeysOf(edit, this.shown, since);
    const present = await this.#get(first);
    const successor = asSuccessor(edit, present);
    // One that an earlier edit of the answer adds is not there yet.
    if (present === null && edit.action === "replace")
      for (const key of contentKeysOf(edit, since)) await this.#get(key);
    for (const key of entryKeysOf(successor, this.shown, since)) {
      written = await this.#get(key);
      if (written === null || !isOver(written, since)) return written;
    }
    return written;
  }

  /** Reads what entries supersede. */
  async behind(entries: readonly ListedEntry[]): Promise<void> {
    for (const { supersedes } of entries) for (const key of supersedes) await this.#get(key);
  }

  /** Entries that say the same as a text. */
  async saying(content: string): Promise<ListedEntry[]> {
    const { store, entries } = this.place;
    if (!store.capabilities.search) return [];
    const query = content.slice(0, SEARCHED).toWellFormed();
    const found = await store.entries.search(entries, query, { limit: LIKELY, includeEnded: true, rerank: false });
    const isSame = sameFactAs(content);
    const keys = found.filter((each) => isSame(each.content)).map(({ key }) => key);
    return (await Promise.all(keys.map((key) => this.#get(key)))).filter((each) => each !== null);
  }

  // What an entry superseded, where it began later.
  async #before(key: string, since: string | null): Promise<readonly string[]> {
    const entry = await this.#get(key);
    return entry === null || since === null || (heldSince(entry) ?? "") < since ? [] : entry.supersedes;
  }

  async #get(key: string): Promise<ListedEntry | null> {
    const { store, entries } = this.place;
    if (key !== "" && !this.#read.has(key)) {
      this.#read.add(key);
      const entry = await store.entries.get(entries, key);
      if (entry !== null) this.found.set(key, entry);
    }
    return this.found.get(key) ?? null;
  }
}

// Rules of the host's may give anything.
const keysIn = (keys: unknown): string[] =>
  Array.isArray(keys) ? keys.filter((key) => typeof key === "string" && key !== "") : [];

/** The entries that a learn function is shown. */
export async function entriesFor(
  blocks: readonly LiveBlock[],
  messages: readonly SessionMessage[],
): Promise<LearnEntry[]> {
  const found = blocks.map((block) => {
    const place = placeIn(block);
    return place === null ? [] : nearestEntries(place, block.label, messages);
  });
  return (await Promise.all(found)).flat();
}

/** The present content of the block, or of the entry that holds, of which this is a version. Null where no block keeps it. */
export async function presentText(
  blocks: readonly LiveBlock[],
  view: MemoryView,
  { label, key, owner }: RememberedVersion,
): Promise<PresentText | null> {
  const isOwner = (scope: BlockScope = "session") =>
    typeof scope === "object" ? "key" in owner && owner.key === scope.key : scope in owner;
  for (const block of blocks) {
    const { provider } = block;
    if (key === null) {
      const place = provider instanceof StoreContextProvider ? placeOfBlock(provider).key : null;
      if (place?.label !== label || !isOwner(place.scope)) continue;
      return { label: block.label, text: view.blocks.find((each) => each.label === block.label)?.content ?? null };
    }
    const place = block.entryPlaces.find(({ entries, scope }) => entries.label === label && isOwner(scope));
    if (place === undefined) continue;
    const entry = await place.store.entries.get(place.entries, key);
    // What has ended does not come back either.
    return { label: block.label, text: entry === null || entry.validTo !== null ? null : entry.content };
  }
  return null;
}

/** The writes for a store. A block must still be as it was read, and so must an entry that is written or closed. */
export function keptWrites(
  writes: readonly LearnedWrite[],
  view: MemoryView,
  blocks: readonly LiveBlock[],
  sessionId: string,
): KeptWrite[] {
  const versions = new Map(view.blocks.map(({ label, version }) => [label, version]));
  const written = new Set<string>();
  // In one order for all: of two that lock the same blocks, neither waits for the other and is waited for.
  const ordered = writes.toSorted((a, b) => (a.label === b.label ? 0 : a.label < b.label ? -1 : 1));
  const made = ordered.flatMap(({ label, key, content, fields, supersededBy, edit }): KeptWrite[] => {
    const block = blocks.find((each) => each.label === label);
    if (block === undefined) return [];
    const { provider } = block;
    const origin = { author: "learning", sessionId, messageIds: edit.messageIds } as const;
    const options = block.noted({ origin });
    const place = placeIn(block);
    if (place !== null) {
      const expectedContent = view.entry(label, key ?? "")?.content ?? null;
      const isFirst = !written.has(JSON.stringify([label, key]));
      written.add(JSON.stringify([label, key]));
      const expected = {
        ...options,
        ...(isFirst && { expectedContent }),
        ...(supersededBy.length > 0 && { supersededBy }),
      };
      return [{ entries: place.entries, key: key ?? "", content, ...fields, options: expected }];
    }
    if (!(provider instanceof StoreContextProvider)) return [];
    const expectedVersion = versions.get(label) ?? 0;
    versions.set(label, expectedVersion + 1);
    return [{ block: placeOfBlock(provider).key, content: content ?? "", options: { ...options, expectedVersion } }];
  });
  return [...closedAsRead(ordered, view, blocks), ...made];
}

// Before anything is written, since that changes them.
function closedAsRead(writes: readonly LearnedWrite[], view: MemoryView, blocks: readonly LiveBlock[]): KeptWrite[] {
  return blocks.flatMap((block) => {
    const { label } = block;
    const place = placeIn(block);
    if (place === null) return [];
    const own = writes.filter((each) => each.label === label);
    const keys = new Set(
      own.flatMap(({ key, fields, supersededBy }) => [key ?? "", ...(fields.supersedes ?? []), ...supersededBy]),
    );
    return [...keys].sort().flatMap((key) => {
      const asRead = view.entry(label, key);
      return asRead === null ? [] : [{ entries: place.entries, asRead }];
    });
  });
}
