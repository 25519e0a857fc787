import {
  assertArgument,
  assertFits,
  byTurns,
  check,
  defineOptions,
  estimateStringTokens,
  excerpt,
  invalid,
  joinResults,
  parseQuery,
  quoteField,
  quoteResult,
} from "@stemma/model";
import {
  type BlockScope,
  ENTRY_SEARCH,
  ENTRY_VIEW,
  type EntryFields,
  type EntryScope,
  type EntryStore,
  FACT_FIELDS,
  type FoundEntry,
  type ListEntriesOptions,
  type ListedEntry,
  NOTED,
  type SearchEntriesOptions,
  type Store,
  type StoredVersion,
  type VersionOptions,
} from "@stemma/store";
import type { SearchTimes } from "../../tools/times.js";
import { DEFAULT_MAX_TOKENS } from "../block.js";
import type { AppendOptions, SearchProvider } from "../provider.js";
import {
  type EntryScopeOptions,
  findDefaultScope,
  type NamedScope,
  namedScopes,
  nameOfScope,
  scopeNamed,
  scopeToWrite,
} from "./entry-scopes.js";
import { assertName, ProviderPlace, SHARING, type SharingOptions } from "./store-context.js";

/** Estimated tokens of what is shown beside the best entry. */
const MAX_TOKENS = 2000;
/** Characters that are shown of an entry for which there is no more room. */
const EXCERPT_LENGTH = 600;

/** Shows the entries that a search found, best first, as `AgentSearchProvider.search` describes; null for none. */
function showEntries(
  found: readonly { key: string; content: string; scope: string }[],
  query: string,
  namesScope: boolean,
): string | null {
  const parsed = parseQuery(query);
  const texts: string[] = [];
  let room = MAX_TOKENS;
  for (const { key, content, scope } of found) {
    const head = namesScope ? `${scope} · ${quoteField(key)}` : quoteField(key);
    const fits = (text: string) => texts.length === 0 || estimateStringTokens(text) <= room;
    const text = [content, excerpt(content, parsed, EXCERPT_LENGTH)]
      .map((shown) => quoteResult(head, shown))
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
  /**
   * Several scopes in the place of `scope`, at most 10: reads and searches look into all of them and name the scope of each
   * entry. A scope is written only where its `write` is true.
   */
  scopes?: readonly EntryScopeOptions[] | undefined;
}

/** Which of a provider's scopes an entry is in. */
export interface InScope {
  /** The name of the scope. Default of a write: the user's, or else the first that may be written; of a read: the same, or else the first. */
  scope?: string | undefined;
}

/** An entry with the scope that it is in. */
export type ScopedEntry<Entry extends ListedEntry = ListedEntry> = Entry & {
  /** The scope's name. */
  readonly scope: string;
  /** False where the scope is only read. */
  readonly writable: boolean;
};

/** Which entries `AgentSearchProvider.list` gives. */
export interface ListScopesOptions extends Omit<ListEntriesOptions, "after"> {
  /** Only what comes behind this entry. */
  readonly after?: { readonly scope: string; readonly key: string } | undefined;
}

/** How `AgentSearchProvider.set` writes an entry. */
export interface RememberOptions extends VersionOptions, InScope {
  /** Fields of its time, tags, origin and predecessors. Those that are left out stay. */
  fact?: EntryFields | undefined;
}

const OPTIONS = defineOptions<AgentSearchOptions>({
  ...SHARING.checks,
  label: assertName,
  scopes: (scopes) => void namedScopes(scopes),
});

const PLACE = check.rule<ListScopesOptions["after"]>(
  "{ scope, key } of an entry",
  (after) => typeof after?.scope === "string" && typeof after.key === "string",
);
const LIST = defineOptions<ListScopesOptions>({
  ...ENTRY_VIEW.checks,
  limit: check.whole(1),
  prefix: check.storable,
  after: PLACE,
});
const FIND = defineOptions<Partial<SearchEntriesOptions>>({ ...ENTRY_SEARCH.checks, limit: check.whole(1) });
const TIMES = defineOptions<SearchTimes>({ after: check.time, before: check.time });
const IN_SCOPE = defineOptions<InScope>({ scope: check.text });
const NOTED_IN_SCOPE = defineOptions<VersionOptions & InScope>({ ...NOTED.checks, ...IN_SCOPE.checks });
const SET = defineOptions<RememberOptions>({ ...NOTED_IN_SCOPE.checks, fact: check.nested(FACT_FIELDS) });
const APPEND = defineOptions<AppendOptions & InScope>({
  ...NOTED_IN_SCOPE.checks,
  maxTokens: check.amount("tokens"),
});
const DESCRIPTION = check.rule<string | undefined>(
  "a text, or undefined where only options follow",
  (value) => value === undefined || typeof value === "string",
);

/** Where a provider keeps the entries of one scope. */
export interface EntryPlace extends NamedScope {
  readonly store: Store;
  readonly entries: EntryScope;
}

/** Where a provider keeps its entries, scope by scope. */
export let placesOfEntries: (provider: AgentSearchProvider) => readonly EntryPlace[];

/**
 * Searchable entries kept in a store, under the label of the block that uses them. They belong to one session (the one
 * that uses them, or the unnamed one when used by itself), unless they are shared, or have another scope or several.
 */
export class AgentSearchProvider implements SearchProvider {
  static {
    placesOfEntries = (provider) =>
      provider.scopes.map((scope) => ({ ...scope, store: provider.#place.store, entries: provider.#entriesOf(scope) }));
  }

  /** Always true: `search` takes times. */
  readonly searchesByTime = true;
  #place: ProviderPlace;
  #scopes: readonly NamedScope[] | null = null;

  /**
   * `host` is a store, or an object with a `sql` tagged template. A label given here is kept, whatever block uses the
   * provider; without one, entries written before a block uses it stand under the label "", and no block shows them.
   * Errors: `INVALID_ARGUMENT`; at the first use `STORE_UNSUPPORTED`, `USER_REQUIRED`.
   */
  constructor(host: object, options: string | AgentSearchOptions = {}) {
    const given = typeof options === "string" ? { label: options } : options;
    OPTIONS.assert(given, "AgentSearchProvider");
    const { label, scopes, ...sharing }: AgentSearchOptions = given;
    if (scopes !== undefined) {
      const isAlone = sharing.scope === undefined && !sharing.shared;
      if (!isAlone) throw invalid("A provider takes scopes, a scope, or shared: true, one of them.");
      this.#scopes = namedScopes(scopes);
    }
    this.#place = ProviderPlace.on(host, label, sharing);
  }

  /** The scopes that it was given, in their order, or the one that it has. */
  get scopes(): readonly NamedScope[] {
    if (this.#scopes !== null) return this.#scopes;
    const { scope = "session" } = this.#place;
    return [{ name: nameOfScope(scope), scope, writable: true }];
  }

  /** True where it was given `scopes`: then prompts, tools and results name them. */
  get namesScopes(): boolean {
    return this.#scopes !== null;
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

  /**
   * `42 entries indexed.`, or null when there is none. Of several scopes a line for each that holds some, as
   * `project (read-only): 42 entries indexed.` Errors: `USER_REQUIRED`, those of the store.
   */
  async get(): Promise<string | null> {
    const { scopes } = this;
    const counts = await Promise.all(scopes.map((scope) => this.#entries.count(this.#entriesOf(scope))));
    const lines = scopes.flatMap(({ name, writable }, index) => {
      const count = counts[index] ?? 0;
      if (count === 0) return [];
      const head = this.namesScopes ? `${name}${writable ? "" : " (read-only)"}: ` : "";
      return [`${head}${count} ${count === 1 ? "entry" : "entries"} indexed.`];
    });
    return lines.length === 0 ? null : lines.join("\n");
  }

  /**
   * The ten best entries, each as `[key]`, a line break and its content, a blank line between them; null when none
   * matches. The best one is whole. All together have at most about 2,000 estimated tokens: the others are cut to an excerpt, and
   * those that still do not fit are only counted. A line of an entry that could pass for the head of another one gets a
   * backslash in front; a key that could be misread is shown as JSON. Of several scopes the head is `[project · key]`. With `times`
   * only entries that were last written between them. Errors: `SEARCH_UNAVAILABLE`, `USER_REQUIRED`, those of the store.
   */
  async search(query: string, times: SearchTimes = {}): Promise<string | null> {
    TIMES.assert(times, "AgentSearchProvider.search()");
    return showEntries(await this.find(query, times), query, this.namesScopes);
  }

  /**
   * The entries of all scopes that hold now, or those of a view, each with its scope: in the order of the scopes, then of their
   * keys. At most `limit`, by default 100. Errors: `INVALID_ARGUMENT`, `USER_REQUIRED`, those of the store.
   */
  async list(options: ListScopesOptions = {}): Promise<ScopedEntry[]> {
    LIST.assert(options, "AgentSearchProvider.list()");
    const { after, limit = 100, ...view } = options;
    const { scopes } = this;
    const start = after === undefined ? 0 : scopes.indexOf(scopeNamed(scopes, after.scope));
    const found: ScopedEntry[] = [];
    for (const [index, scope] of scopes.slice(start).entries()) {
      const page = { ...view, after: index === 0 ? after?.key : undefined, limit: limit - found.length };
      found.push(...(await this.#entries.list(this.#entriesOf(scope), page)).map((entry) => inScope(entry, scope)));
      if (found.length >= limit) break;
    }
    return found;
  }

  /**
   * The entries of all scopes that match and hold now, or are in a view, best first, at most `limit` (default 10), each with its scope. Scores
   * of two scopes do not compare, so these come by turns, in the order of the scopes; with a reranker, its scores decide.
   * Errors: `SEARCH_UNAVAILABLE`, `INVALID_ARGUMENT`, `USER_REQUIRED`, those of the store.
   */
  async find(query: string, options: Partial<SearchEntriesOptions> = {}): Promise<ScopedEntry<FoundEntry>[]> {
    FIND.assert(options, "AgentSearchProvider.find()");
    const { limit = MAX_RESULTS } = options;
    const rankings = await Promise.all(
      this.scopes.map(async (scope) =>
        (await this.#entries.search(this.#entriesOf(scope), query, { ...options, limit })).map((entry) =>
          inScope(entry, scope),
        ),
      ),
    );
    const found = byTurns(rankings);
    const score = ({ rerankScore }: FoundEntry) => rerankScore ?? Number.NaN;
    const isReranked = rankings.length > 1 && found.every((entry) => !Number.isNaN(score(entry)));
    return (isReranked ? found.sort((a, b) => score(b) - score(a)) : found).slice(0, limit);
  }

  /**
   * Writes an entry, in place when the key is known in its scope. A description is not kept. Without a `validTo` in the options'
   * `fact` it holds from now on, whatever was known of its end. Errors: `INVALID_TEXT`, `INVALID_ARGUMENT`, `BLOCK_READONLY` for a
   * scope that is only read, `ENTRY_CONFLICT` for an entry that another one supersedes.
   */
  async set(key: string, content: string, description?: string, options: RememberOptions = {}): Promise<void> {
    assertEntry(key, content);
    assertArgument(DESCRIPTION, description, "The description of AgentSearchProvider.set()");
    SET.assert(options, "AgentSearchProvider.set()");
    const { fact, scope, ...noted } = options;
    const holds = fact?.validTo === undefined;
    await this.#entries.set(this.#toWrite(scope), { ...fact, key, content }, { holds, ...noted });
  }

  /**
   * Removes an entry. Its versions stay, unless `keepVersions` is 0. An unknown key does nothing. Errors: `BLOCK_READONLY`,
   * `INVALID_ARGUMENT` for an unknown scope, those of the store.
   */
  async delete(key: string, options: VersionOptions & InScope = {}): Promise<void> {
    NOTED_IN_SCOPE.assert(options, "AgentSearchProvider.delete()");
    const { scope, ...noted } = options;
    await this.#entries.delete(this.#toWrite(scope), key, noted);
  }

  /**
   * The versions that are kept of an entry, the newest first; the present one is among them. Errors: `INVALID_ARGUMENT` for an
   * unknown scope, those of the store.
   */
  async versions(key: string, options: InScope = {}): Promise<StoredVersion[]> {
    IN_SCOPE.assert(options, "AgentSearchProvider.versions()");
    const { scope } = options;
    const { scopes } = this;
    const place = scope === undefined ? (findDefaultScope(scopes) ?? scopes[0]) : scopeNamed(scopes, scope);
    return this.#entries.versions(this.#entriesOf(place as NamedScope), key);
  }

  /**
   * Appends in the store, on a new line, creating the entry when absent. Errors: `BLOCK_OVER_BUDGET`, `INVALID_TEXT`,
   * `BLOCK_READONLY`, `INVALID_ARGUMENT` for an unknown scope.
   */
  async append(key: string, content: string, options: AppendOptions & InScope = {}): Promise<void> {
    assertEntry(key, content);
    APPEND.assert(options, "AgentSearchProvider.append()");
    const { maxTokens = DEFAULT_MAX_TOKENS, scope, ...noted } = options;
    await this.#entries.append(this.#toWrite(scope), { key, content }, { ...noted, maxTokens, holds: true });
  }

  get #entries(): EntryStore {
    return this.#place.store.entries;
  }

  #entriesOf({ scope }: { readonly scope: BlockScope }): EntryScope {
    const { sessionId, label } = this.#place;
    return { sessionId, label, scope };
  }

  #toWrite(scope: string | undefined): EntryScope {
    return this.#entriesOf(scopeToWrite(this.scopes, this.#place.label, scope));
  }

  #at(place: ProviderPlace): AgentSearchProvider {
    if (place === this.#place) return this;
    // Its place names the host.
    const copy = new AgentSearchProvider({});
    copy.#place = place;
    copy.#scopes = this.#scopes;
    return copy;
  }
}

function assertEntry(key: string, content: string): void {
  assertName(key, "The key of an entry");
  assertFits(key, "The key of an entry", "key");
  assertArgument(check.storable, content, "The content of an entry");
}

function inScope<Entry extends ListedEntry>(entry: Entry, { name, writable }: NamedScope): ScopedEntry<Entry> {
  return { ...entry, scope: name, writable };
}
