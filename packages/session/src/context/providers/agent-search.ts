import {
  assertFits,
  assertStorableText,
  defineOptions,
  estimateStringTokens,
  excerpt,
  joinResults,
  parseQuery,
  quoteField,
  quoteResult,
} from "@stemma/model";
import type { EntryFields, EntryScope, EntryStore, Store, StoredVersion, VersionOptions } from "@stemma/store";
import type { SearchTimes } from "../../tools/times.js";
import { DEFAULT_MAX_TOKENS } from "../block.js";
import type { AppendOptions, SearchProvider } from "../provider.js";
import { assertName, ProviderPlace, SHARING, type SharingOptions } from "./store-context.js";

/** Estimated tokens of what is shown beside the best entry. */
const MAX_TOKENS = 2000;
/** Characters that are shown of an entry for which there is no more room. */
const EXCERPT_LENGTH = 600;

/** Shows the entries that a search found, best first, as `AgentSearchProvider.search` describes; null for none. */
function showEntries(found: readonly { key: string; content: string }[], query: string): string | null {
  const parsed = parseQuery(query);
  const texts: string[] = [];
  let room = MAX_TOKENS;
  for (const { key, content } of found) {
    const fits = (text: string) => texts.length === 0 || estimateStringTokens(text) <= room;
    const text = [content, excerpt(content, parsed, EXCERPT_LENGTH)]
      .map((shown) => quoteResult(quoteField(key), shown))
      .find(fits);
    if (text === undefined) break;
    if (texts.length > 0) room -= estimateStringTokens(text);
    texts.push(text);
  }
  return texts.length === 0 ? null : joinResults(texts, found.length - texts.length);
}

const MAX_RESULTS = 10;

export interface AgentSearchOptions extends SharingOptions {
  /** Keep the entries under this label, whatever block uses the provider. */
  label?: string | undefined;
}

/** How `AgentSearchProvider.set` writes an entry. */
export interface RememberOptions extends VersionOptions {
  /** Fields of its time, tags, origin and predecessors. Those that are left out stay. */
  fact?: EntryFields | undefined;
}

const OPTIONS = defineOptions<AgentSearchOptions>({ ...SHARING.checks, label: assertName });

/** Where a provider keeps its entries. */
export let placeOfEntries: (provider: AgentSearchProvider) => { readonly store: Store; readonly scope: EntryScope };

/**
 * Searchable entries kept in a store, under the label of the block that uses them. They belong to one session (the one
 * that uses them, or the unnamed one when used by itself), unless they are shared or have another scope.
 */
export class AgentSearchProvider implements SearchProvider {
  static {
    placeOfEntries = (provider) => ({ store: provider.#place.store, scope: provider.#scope });
  }

  /** Always true: `search` takes times. */
  readonly searchesByTime = true;
  #place: ProviderPlace;

  /**
   * `host` is a store, or an object with a `sql` tagged template. A label given here is kept, whatever block uses the
   * provider; without one, entries written before a block uses it stand under the label "", and no block shows them.
   * Errors: `INVALID_ARGUMENT`; at the first use `STORE_UNSUPPORTED`, `USER_REQUIRED`.
   */
  constructor(host: object, options: string | AgentSearchOptions = {}) {
    const { label, ...sharing } = typeof options === "string" ? { label: options } : options;
    OPTIONS.assert({ label, ...sharing }, "AgentSearchProvider");
    this.#place = ProviderPlace.on(host, label, sharing);
  }

  /** A copy bound to this session; itself when it serves that session already. Errors: `SESSION_ID_BOUND`. */
  forSession(sessionId: string): AgentSearchProvider {
    return this.#at(this.#place.forSession(sessionId));
  }

  /** A copy for this user; itself when it serves that user already, and when it is shared. Errors: `SESSION_OWNED`. */
  forUser(userId: string): AgentSearchProvider {
    return this.#at(this.#place.forUser(userId));
  }

  /** Takes the block's label, unless one was given at the start. Errors: `INVALID_ARGUMENT` when a block with another label has it. */
  init(label: string): void {
    this.#place.take(label);
  }

  /** `42 entries indexed.`, or null when there is none. Errors: `USER_REQUIRED`, those of the store. */
  async get(): Promise<string | null> {
    const count = await this.#entries.count(this.#scope);
    return count === 0 ? null : `${count} ${count === 1 ? "entry" : "entries"} indexed.`;
  }

  /**
   * The ten best entries, each as `[key]`, a line break and its content, a blank line between them; null when none
   * matches. The best one is whole. All together have at most about 2,000 estimated tokens: the others are cut to an excerpt, and
   * those that still do not fit are only counted. A line of an entry that could pass for the head of another one gets a
   * backslash in front; a key that could be misread is shown as JSON. Errors: `SEARCH_UNAVAILABLE`, `USER_REQUIRED`, those of
   * the store. With `times` only entries that were last written between them.
   */
  async search(query: string, times: SearchTimes = {}): Promise<string | null> {
    return showEntries(await this.#entries.search(this.#scope, query, { ...times, limit: MAX_RESULTS }), query);
  }

  /**
   * Writes an entry, in place when the key is known. A description is not kept. Without a `validTo` in the options' `fact` it
   * holds from now on, whatever was known of its end. Errors: `INVALID_TEXT`, `INVALID_ARGUMENT`, `ENTRY_CONFLICT` for one that
   * another entry supersedes.
   */
  async set(key: string, content: string, _description?: string, options: RememberOptions = {}): Promise<void> {
    assertEntry(key, content);
    const { fact, ...noted } = options;
    const holds = fact?.validTo === undefined;
    await this.#entries.set(this.#scope, { ...fact, key, content }, { holds, ...noted });
  }

  /** Removes an entry. Its versions stay, unless `keepVersions` is 0. An unknown key does nothing. Errors: those of the store. */
  async delete(key: string, options: VersionOptions = {}): Promise<void> {
    await this.#entries.delete(this.#scope, key, options);
  }

  /** The versions that are kept of an entry, the newest first; the present one is among them. Errors: those of the store. */
  async versions(key: string): Promise<StoredVersion[]> {
    return this.#entries.versions(this.#scope, key);
  }

  /** Appends in the store, on a new line, creating the entry when absent. Errors: `BLOCK_OVER_BUDGET`, `INVALID_TEXT`. */
  async append(
    key: string,
    content: string,
    { maxTokens = DEFAULT_MAX_TOKENS, ...options }: AppendOptions = {},
  ): Promise<void> {
    assertEntry(key, content);
    await this.#entries.append(this.#scope, { key, content }, { ...options, maxTokens, holds: true });
  }

  get #entries(): EntryStore {
    return this.#place.store.entries;
  }

  get #scope(): EntryScope {
    const { sessionId, label, scope } = this.#place;
    return { sessionId, label, scope };
  }

  #at(place: ProviderPlace): AgentSearchProvider {
    if (place === this.#place) return this;
    // Its place names the host.
    const copy = new AgentSearchProvider({});
    copy.#place = place;
    return copy;
  }
}

function assertEntry(key: string, content: string): void {
  assertName(key, "The key of an entry");
  assertFits(key, "The key of an entry", "key");
  assertStorableText(content, "The content of an entry");
}
