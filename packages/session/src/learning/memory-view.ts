import type { SessionMessage } from "@stemma/model";
import { foldLabel, searchableText } from "@stemma/model";
import type { KeptWrite, Store } from "@stemma/store";
import { orderOf } from "@stemma/store";
import type { LiveBlock } from "../context/live-block.js";
import { AgentSearchProvider, placeOfEntries } from "../context/providers/agent-search.js";
import { placeOfBlock, StoreContextProvider } from "../context/providers/store-context.js";
import type { EditedBlock, LearnBlock, LearnEdit, LearnEntry } from "./apply.js";
import { entryKeyOf, type LearnedWrite } from "./apply.js";

/** Entries that are shown of one block. */
const MOST_ENTRIES = 10;
/** Characters of what was said by which they are found. */
const MOST_QUERY = 2000;

/** The blocks of a session that one transaction of its store can write: what is learned goes there. */
export function learnableBlocks(blocks: readonly LiveBlock[], store: Store): LiveBlock[] {
  return blocks.filter(({ provider }) => {
    if (provider instanceof StoreContextProvider) return orderOf(placeOfBlock(provider).store) === orderOf(store);
    return provider instanceof AgentSearchProvider && orderOf(placeOfEntries(provider).store) === orderOf(store);
  });
}

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

/** The entries that fit messages best. */
export async function entriesFor(
  blocks: readonly LiveBlock[],
  messages: readonly SessionMessage[],
): Promise<LearnEntry[]> {
  const said = messages.filter(({ role }) => role === "user").map(searchableText);
  const query = said.join("\n").slice(-MOST_QUERY).toWellFormed();
  const found = blocks.map(async ({ label, provider }): Promise<LearnEntry[]> => {
    if (!(provider instanceof AgentSearchProvider)) return [];
    const { store, scope } = placeOfEntries(provider);
    if (!store.capabilities.search) return [];
    const entries = await store.entries.search(scope, query, { limit: MOST_ENTRIES });
    return entries.map((entry) => ({ label, ...entry }));
  });
  return (await Promise.all(found)).flat();
}

/** Blocks as edits find them, and what the entries say that they name. */
export interface MemoryView {
  readonly blocks: readonly (EditedBlock & { readonly version: number })[];
  readonly entry: (label: string, key: string) => string | null;
}

/** Reads what edits are applied to. */
export async function readMemory(blocks: readonly LiveBlock[], edits: readonly LearnEdit[]): Promise<MemoryView> {
  const entries = new Map<string, string>();
  const edited = await Promise.all(
    blocks.map(async (block) => {
      const { label, folded, provider, cap, document } = block;
      const { content, version = 0 } = await block.read();
      const holdsEntries = provider instanceof AgentSearchProvider;
      if (holdsEntries) {
        const { store, scope } = placeOfEntries(provider);
        const keys = edits.filter((edit) => foldLabel(edit?.label) === folded).map(entryKeyOf);
        for (const key of new Set(keys)) {
          const found = key === "" ? null : await store.entries.get(scope, key);
          if (found !== null) entries.set(JSON.stringify([label, key]), found.content);
        }
      }
      return { label, content, version, cap, document, holdsEntries };
    }),
  );
  return { blocks: edited, entry: (label, key) => entries.get(JSON.stringify([label, key])) ?? null };
}

/** The writes for a store. A block must still be as it was read. */
export function keptWrites(
  writes: readonly LearnedWrite[],
  view: MemoryView,
  blocks: readonly LiveBlock[],
  sessionId: string,
): KeptWrite[] {
  const versions = new Map(view.blocks.map(({ label, version }) => [label, version]));
  // In one order for all: of two that lock the same blocks, neither waits for the other and is waited for.
  const ordered = writes.toSorted((a, b) => (a.label === b.label ? 0 : a.label < b.label ? -1 : 1));
  return ordered.flatMap(({ label, key, content, edit }): KeptWrite[] => {
    const block = blocks.find((each) => each.label === label);
    if (block === undefined) return [];
    const { provider } = block;
    const origin = { author: "learning", sessionId, messageIds: edit.messageIds } as const;
    const options = block.noted({ origin });
    if (provider instanceof AgentSearchProvider) {
      return [{ entries: placeOfEntries(provider).scope, key: key ?? "", content, options }];
    }
    if (!(provider instanceof StoreContextProvider)) return [];
    const expectedVersion = versions.get(label) ?? 0;
    versions.set(label, expectedVersion + 1);
    return [{ block: placeOfBlock(provider).key, content: content ?? "", options: { ...options, expectedVersion } }];
  });
}
