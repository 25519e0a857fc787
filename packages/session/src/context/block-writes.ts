// What tools and methods do with a block: all writes, with their checks, and reads of single entries and versions.
import { appendText, assertStorableText, invalid, keyOfTitle, StemmaError } from "@stemma/model";
import { fieldsOf, type StoredVersion, type VersionOptions, type WriteOrigin } from "@stemma/store";
import type { SearchTimes } from "../tools/times.js";
import type { ConflictingBlock, ToolCallOptions, ToolEntry, WriteAction, WrittenEntry } from "../tools/tool.js";
import type { ContextBlock } from "./block.js";
import { type LiveBlock, readingOf } from "./live-block.js";
import {
  callProvider,
  isKeyed,
  isSearchProvider,
  isSkillProvider,
  isVersioned,
  isWritable,
  readProvider,
  type SearchProvider,
  type SkillProvider,
  type WritableContextProvider,
  type WriteOptions,
} from "./provider.js";
import { AgentSearchProvider, type EntryPlace } from "./providers/agent-search.js";
import { scopeToWrite } from "./providers/entry-scopes.js";
/** Names an entry of a block; of a block of text nothing. */
export interface EntryName {
  readonly key?: string | undefined;
  /** The name of its scope. Default: the one that is written. */
  readonly scope?: string | undefined;
}

/** The blocks as a turn shows them. */
export interface ShownTurn {
  /** The message of the user that is to be answered; undefined for the same as before. */
  readonly messageId: string | null | undefined;
  /** The blocks, as their text is shown. */
  readonly blocks: readonly { readonly block: LiveBlock; readonly version: number }[];
  /** Of these blocks, by the folded label, it shows an earlier text: this one. */
  readonly earlier: ReadonlyMap<string, string>;
}

/** The writes of one session to its blocks: each says whose it is, and the model replaces only what it was shown. */
export class BlockWrites {
  readonly shown = new ShownBlocks();

  constructor(readonly sessionId: string) {}

  replace(block: LiveBlock, content: string, options: WriteOptions): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => replaceText(block, content, { origin, ...options }));
  }

  append(block: LiveBlock, text: string): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => addText(block, text, { origin }));
  }

  patch(block: LiveBlock, patch: unknown): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => patchText(block, patch, { origin }));
  }

  /** Writes what an earlier version said, of a block or of an entry. */
  restore(block: LiveBlock, version: StoredVersion, entry: EntryName): Promise<ContextBlock> {
    const origin = this.#origin("program");
    return this.shown.writing(block.folded, () => restoreVersion(block, version, entry, { origin }));
  }

  /** Makes a tool's write to a block without keys. */
  async byModel(
    block: LiveBlock,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<ContextBlock | ConflictingBlock> {
    const origin = this.#origin("model", call);
    const { document, folded } = block;
    if (action === "append") return this.shown.writing(folded, () => addText(block, content, { origin }));
    if (document === null) return this.#replaceShown(block, content, origin);
    const patch = document.parsePatch(content);
    return this.shown.writing(folded, () => patchText(block, patch, { origin }));
  }

  /** Makes a tool's write to an entry. */
  entryByModel(block: LiveBlock, entry: ToolEntry, action: WriteAction, call: ToolCallOptions): Promise<void> {
    return writeEntry(block, entry, action, { origin: this.#origin("model", call) });
  }

  /** Notes what a turn shows. */
  async show({ messageId, blocks, earlier }: ShownTurn): Promise<void> {
    if (messageId !== undefined) this.shown.messageId = messageId;
    for (const { block, version } of blocks) {
      if (!isVersioned(block.provider)) continue;
      const text = earlier.get(block.folded);
      const isKnown = text === undefined || (await this.#isOwnSince(block, version, text));
      this.shown.show(block.folded, isKnown ? version : OUTDATED);
    }
  }

  async #replaceShown(
    block: LiveBlock,
    content: string,
    origin: WriteOrigin,
  ): Promise<ContextBlock | ConflictingBlock> {
    try {
      return await this.shown.writing(block.folded, (expectedVersion) =>
        replaceText(block, content, { origin, ...(expectedVersion !== undefined && { expectedVersion }) }),
      );
    } catch (error) {
      if (!StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
      // A write of this session that came before it was refused, so that there is one version less.
      if (this.shown.known(block.folded) === error.details.version) return this.#replaceShown(block, content, origin);
      const present = await block.read();
      this.shown.show(block.folded, present.version ?? 0);
      return { present: present.content };
    }
  }

  // What this session's model and program wrote since stands in the conversation, or is known there.
  async #isOwnSince(block: LiveBlock, version: number, text: string): Promise<boolean> {
    if (this.shown.known(block.folded) === version) return true;
    try {
      for (const each of await versionsOf(block, {})) {
        if (each.content === text) return true;
        const isOwn = each.sessionId === this.sessionId && each.author !== "learning";
        if (!isOwn) return false;
        if (each.version === 1) return text === "";
      }
    } catch {
      // A provider without a history tells nothing.
    }
    return false;
  }

  #origin(author: "model" | "program", { toolCallId }: ToolCallOptions = {}): WriteOrigin {
    const { messageId } = this.shown;
    const messageIds = author === "model" && messageId !== null ? [messageId] : [];
    return { author, sessionId: this.sessionId, messageIds, toolCallId };
  }
}

/** Stands for a version that is no more: whoever expects it is told of a conflict. */
const OUTDATED = -1;

interface Shown {
  /** The version that the model knows. */
  version: number;
  /** Writes of this session that are under way, each of which will make one more. */
  pending: number;
}

/**
 * The state that the model was shown: the message that it answers, and the version of each block, by the folded label. What the
 * session itself writes since, the model or the program, counts as shown. Empty until a turn was prepared.
 */
export class ShownBlocks {
  /** The message of the user that the model answers; null before there is one. */
  messageId: string | null = null;
  readonly #blocks = new Map<string, Shown>();

  show(folded: string, version: number): void {
    const shown = this.#blocks.get(folded);
    if (shown === undefined) this.#blocks.set(folded, { version, pending: 0 });
    else shown.version = version;
  }

  /** The version that the model knows; undefined for what no turn has shown. */
  known(folded: string): number | undefined {
    return this.#blocks.get(folded)?.version;
  }

  clear(): void {
    this.#blocks.clear();
    this.messageId = null;
  }

  /** Runs a write of this session's. It is given the version that the block has if nobody else wrote. */
  async writing(
    folded: string,
    write: (expectedVersion: number | undefined) => Promise<ContextBlock>,
  ): Promise<ContextBlock> {
    const shown = this.#blocks.get(folded);
    if (shown === undefined) return write(undefined);
    const expected = shown.version === OUTDATED ? OUTDATED : shown.version + shown.pending;
    shown.pending += 1;
    try {
      const written = await write(expected);
      // Whatever else was written in between, the model does not know.
      if (written.version === shown.version + 1) shown.version += 1;
      return written;
    } finally {
      shown.pending -= 1;
    }
  }
}

/** An entry as a tool asks for it, in the scope that it is written to, with the keys of what it supersedes. Errors: `BLOCK_READONLY`. */
export async function entryToWrite(block: LiveBlock, entry: ToolEntry): Promise<ToolEntry> {
  const { label, provider, entryPlaces } = block;
  if (!(provider instanceof AgentSearchProvider)) return entry;
  const place = scopeToWrite(entryPlaces, label, entry.scope);
  const scope = provider.namesScopes ? place.name : undefined;
  const named = entry.fact?.supersedes;
  if (named === undefined) return { ...entry, scope };
  const supersedes = await Promise.all(named.map((name) => keyIn(place, name)));
  return { ...entry, scope, fact: { ...entry.fact, supersedes } };
}

/** The key of the entry of a block that a title names, as `ContextAccess.keyOf` gives it. */
export async function keyNamed(block: LiveBlock, title: string, scope: string | undefined): Promise<string> {
  const { label, provider, entryPlaces } = block;
  assertStorableText(title, "A title");
  // A key that the host chose may not be a slug; what the listing shows is an entry's name.
  if (listsKey(block.text ?? "", title)) return title;
  return provider instanceof AgentSearchProvider
    ? keyIn(scopeToWrite(entryPlaces, label, scope), title)
    : keyOfTitle(title);
}

async function keyIn({ store, entries }: EntryPlace, title: string): Promise<string> {
  assertStorableText(title, "A title");
  const made = keyOfTitle(title);
  const isKey = title !== made && title !== "" && (await store.entries.get(entries, title)) !== null;
  return isKey ? title : made;
}

/** Writes one entry of a keyed block within the block's budget, which bounds each entry. */
async function writeEntry(
  block: LiveBlock,
  entry: ToolEntry,
  action: WriteAction,
  options: VersionOptions,
): Promise<void> {
  const { label, provider } = block;
  const { key, content, description, scope, fact } = entry;
  if (!isKeyed(provider)) throw block.refusal("holds one text without keys");
  if (!provider.set) throw block.readonlyError();
  block.assertBudget(content);
  const about = block.order.isOwn
    ? [description, { ...block.noted(options), scope, fact }]
    : description === undefined
      ? []
      : [description];
  const set = (whole: string) => callProvider(label, "set", () => provider.set?.(key, whole, ...(about as [string])));
  if (action === "replace") {
    await block.order.writing(() => set(content));
  } else {
    await appendEntry(block, provider, entry, set, options);
  }
}

async function appendEntry(
  block: LiveBlock,
  provider: SkillProvider | SearchProvider,
  { key, content, scope }: ToolEntry,
  set: (whole: string) => Promise<unknown>,
  options: VersionOptions,
): Promise<void> {
  const { label } = block;
  const bounds = block.order.isOwn
    ? { ...block.noted(options), maxTokens: block.cap, scope }
    : { maxTokens: block.cap };
  const append = (text: string) => callProvider(label, "append", () => provider.append?.(key, text, bounds));
  if (!isSkillProvider(provider)) {
    // What is there already is not known here: the provider begins the new line.
    if (provider.append) return void (await block.order.writing(() => append(content)));
    throw block.refusal("cannot append: its provider can neither append nor load. Use the action replace");
  }
  await block.order.writing(async () => {
    const before = (await readProvider(label, "load", () => provider.load(key))) ?? "";
    const whole = appendText(before, content);
    block.assertBudget(whole);
    if (provider.append) await append(whole.slice(before.length));
    else await set(whole);
  });
}

/** The times of an entry as they are stored after a write; undefined where its block keeps none, and where they cannot be read. */
export async function timesOfEntry(block: LiveBlock, { key, scope }: ToolEntry): Promise<WrittenEntry["times"]> {
  const { label, provider, entryPlaces } = block;
  if (!(provider instanceof AgentSearchProvider)) return undefined;
  const { store, entries } = scopeToWrite(entryPlaces, label, scope);
  // The write is done, whatever becomes of the note.
  return (await store.entries.get(entries, key).catch(() => null)) ?? undefined;
}

/** A whole document; null when there is none under this key. */
export async function loadEntry(block: LiveBlock, key: string): Promise<string | null> {
  const { label, provider } = block;
  if (!isSkillProvider(provider)) throw block.refusal("has no documents to load");
  return block.order.reading(() => readProvider(label, "load", () => provider.load(key)));
}

/** The entries that match, as text; null when none does. */
export async function searchEntries(block: LiveBlock, query: string, times: SearchTimes): Promise<string | null> {
  const { label, provider } = block;
  if (!isSearchProvider(provider)) throw block.refusal("cannot be searched");
  return block.order.reading(() => readProvider(label, "search", () => provider.search(query, times)));
}

/** True when a line of a listing (`- key` or `- key: description`) shows this very key. */
function listsKey(listing: string, key: string): boolean {
  return listing.split("\n").some((line) => line === `- ${key}` || line.startsWith(`- ${key}: `));
}

/** The versions that are kept of a block, or of one of its entries, the newest first. Errors: `INVALID_ARGUMENT`. */
export async function versionsOf(block: LiveBlock, { key, scope }: EntryName): Promise<StoredVersion[]> {
  const { label, provider } = block;
  if (provider instanceof AgentSearchProvider) {
    if (key === undefined) throw block.refusal("holds entries: name one, as { key }");
    return block.order.reading(() => provider.versions(key, { scope }));
  }
  if (scope !== undefined) throw block.refusal("has no scopes: leave scope out");
  if (key !== undefined) throw block.refusal("keeps no versions of entries");
  if (!isVersioned(provider) || provider.versions === undefined)
    throw block.refusal("has a provider that keeps no versions");
  return block.order.reading(() => callProvider(label, "versions", () => provider.versions?.() ?? []));
}

/** A version of a block, or of one of its entries. Errors: `VERSION_NOT_FOUND`, `INVALID_ARGUMENT`. */
export async function findVersion(block: LiveBlock, version: number, entry: EntryName): Promise<StoredVersion> {
  const found = (await versionsOf(block, entry)).find((each) => each.version === version);
  if (found !== undefined) return found;
  const { label } = block;
  const { key } = entry;
  const what = key === undefined ? `Block "${label}"` : `Entry "${key}" of "${label}"`;
  const message = `${what} has no version ${version}, or no longer keeps it. getBlockHistory() lists the versions that are kept.`;
  throw new StemmaError("VERSION_NOT_FOUND", { label, version }, message);
}

/** Writes what a version said anew. Gives the block as it is then. Errors: `BLOCK_OVER_BUDGET`. */
async function restoreVersion(
  block: LiveBlock,
  version: StoredVersion,
  { key, scope }: EntryName,
  options: VersionOptions,
): Promise<ContextBlock> {
  const { provider } = block;
  const { content } = version;
  if (key === undefined || !(provider instanceof AgentSearchProvider))
    return replaceText(block, content ?? "", options);
  if (content !== null) block.assertBudget(content);
  const noted = { ...block.noted(options), scope };
  await block.order.writing(() =>
    content === null
      ? provider.delete(key, noted)
      : provider.set(key, content, undefined, { ...noted, fact: fieldsOf(version) }),
  );
  return block.read();
}

/** How often a patch is applied anew because someone else wrote in between. */
const MAX_PATCHES = 50;

/** Replaces the text of a block without keys, within its budget. Gives the block as this write left it. */
export async function replaceText(block: LiveBlock, content: string, options: WriteOptions): Promise<ContextBlock> {
  const provider = writable(block);
  block.assertBudget(content);
  // Refused where it does not fit.
  block.document?.read(content);
  if (!isVersioned(provider) && options.expectedVersion !== undefined) {
    const { label } = block;
    throw invalid(`The provider of "${label}" keeps no versions; leave expectedVersion out.`, { label });
  }
  return block.order.writing(() => set(block, provider, content, options));
}

/** Adds text at the end of a block without keys, within its budget. Gives the block as this write left it. */
export async function addText(block: LiveBlock, text: string, options: VersionOptions): Promise<ContextBlock> {
  const provider = writable(block);
  const { cap: maxTokens } = block;
  block.assertBudget(text);
  if (block.document !== null) {
    const rule = "write a JSON Merge Patch, without an action";
    throw block.refusal(`is a JSON object, so nothing can be appended to it: ${rule}`);
  }
  return block.order.writing(async () => {
    if (isVersioned(provider)) {
      const noted = block.noted({ ...options, maxTokens });
      return block.stored("append", () => provider.append(text, noted), readingOf);
    }
    const { text: before } = await block.fetch();
    const whole = appendText(before, text);
    block.assertBudget(whole);
    if (!provider.append) return set(block, provider, whole, {});
    const added = () => provider.append?.(whole.slice(before.length), { maxTokens });
    return block.stored("append", added, () => ({ text: whole }));
  });
}

/** Applies a JSON Merge Patch to a block with a schema. Patches of several writers are all applied. */
async function patchText(block: LiveBlock, patch: unknown, options: VersionOptions): Promise<ContextBlock> {
  const provider = writable(block);
  const { document } = block;
  if (document === null) throw block.refusal("has no schema, so it cannot be patched: replace its content");
  return block.order.writing(async () => {
    for (let attempt = 1; ; attempt += 1) {
      const { text, version = 0 } = await block.fetch();
      const content = document.patched(text, patch);
      block.assertBudget(content);
      const expected = isVersioned(provider) ? { expectedVersion: version } : {};
      try {
        return await set(block, provider, content, { ...options, ...expected });
      } catch (error) {
        // Someone else wrote in between: the patch is applied to that.
        if (attempt === MAX_PATCHES || !StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
      }
    }
  });
}

function set(block: LiveBlock, provider: WritableContextProvider, content: string, options: WriteOptions) {
  if (isVersioned(provider)) return block.stored("set", () => provider.set(content, block.noted(options)), readingOf);
  const call = () => provider.set(content);
  return block.stored("set", call, () => ({ text: content }));
}

function writable(block: LiveBlock): WritableContextProvider {
  const { provider } = block;
  if (isWritable(provider)) return provider;
  if (!isKeyed(provider) || !block.shape.writable) throw block.readonlyError();
  throw block.refusal("holds entries under keys; write one with the set_context tool and a title");
}
