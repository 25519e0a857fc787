import type { EntryEnd, EntryFact, EntryFields, EntryView, VersionFact } from "./facts.js";
import type { SearchRequest } from "./found.js";

/** Who wrote: the model through a tool, the program, what was learned from a conversation, or an import. */
export type Author = "model" | "program" | "learning" | "import";

/** Where a write of a block or an entry comes from. */
export interface WriteOrigin {
  readonly author: Author;
  /** The session in which it was written. Default: the one that the key names. */
  readonly sessionId?: string | undefined;
  /** The messages that it comes from. Default: none. */
  readonly messageIds?: readonly string[] | undefined;
  /** The tool call that made it. */
  readonly toolCallId?: string | undefined;
}

/** How a write of a block or an entry is noted in its history. */
export interface VersionOptions {
  /** Default: the program's. */
  readonly origin?: WriteOrigin | undefined;
  /** How many versions are kept, the present one among them; 0 keeps none. Default: `DEFAULT_KEPT_VERSIONS`. */
  readonly keepVersions?: number | undefined;
}

/** How many versions of a block or an entry are kept unless `keepVersions` says otherwise. */
export const DEFAULT_KEPT_VERSIONS = 50;

/** A block or an entry as it was after one write. */
export interface StoredVersion {
  /** From 1 on; each write has the next number. */
  readonly version: number;
  /** Null where the write removed an entry. */
  readonly content: string | null;
  /** ISO time. */
  readonly writtenAt: string;
  /** Null where it is not known, as of what `agents` wrote. */
  readonly author: Author | null;
  /** The session in which it was written; null where it is not known, or was none. */
  readonly sessionId: string | null;
  readonly messageIds: readonly string[];
  readonly toolCallId: string | null;
  /** The time, tags and origin of an entry. Absent where it has none, and of a block. */
  readonly fact?: VersionFact;
}

/** Who owns a block or an entry: a session, a user in all of the user's sessions, or everyone who names a key. */
export type MemoryOwner = { readonly session: string } | { readonly user: string } | { readonly key: string };

/** A version of a block or an entry, with where it stands. */
export interface RememberedVersion extends StoredVersion {
  readonly owner: MemoryOwner;
  readonly label: string;
  /** The entry's key; null for a block. */
  readonly key: string | null;
}

/** Who owns a block: the session, its user in all of the user's sessions, or everyone who names this key. */
export type BlockScope = "session" | "user" | { readonly key: string };

/**
 * Names a block: a session's own ("" is the unnamed session, whose blocks are also the shared ones), or its frozen prompt.
 * Two keys name the same block only if kind, label and owner are equal.
 */
export interface BlockKey {
  /** The session that it is used in; with another scope than the session's, "" stands for none. */
  readonly sessionId: string;
  readonly kind: "block" | "prompt";
  readonly label: string;
  /** Default: the session. The user is the one that the store is confined to (`Store.forUser`), else that of the session. */
  readonly scope?: BlockScope | undefined;
  /**
   * Not part of the name: the label under which `agents` kept this block, which is read until the key is written. By default
   * the label with the session's id, as `agents` named what it wired itself.
   */
  readonly upgradedLabel?: string | undefined;
}

/** The key of a session's frozen prompt. No label of a block can name it. */
export function promptKey(sessionId: string): BlockKey {
  return { sessionId, kind: "prompt", label: "" };
}

export interface StoredBlock {
  content: string;
  /** Grows by one with every write. */
  version: number;
}

/** How a block is replaced. `expectedVersion` 0 means "must not exist yet". */
export interface ReplaceBlockOptions extends VersionOptions {
  readonly expectedVersion?: number | undefined;
  /** The number that this version gets, for a copy of a block from elsewhere. Default: the next one. */
  readonly version?: number | undefined;
  /** ISO time, for a copy of a block from elsewhere. Default: now. */
  readonly updatedAt?: string | undefined;
}

/** How a block or an entry is appended to. */
export interface AppendTextOptions extends VersionOptions {
  /** The largest content that may result, in estimated tokens. */
  readonly maxTokens: number;
}

/** How an entry is appended to. */
export interface AppendEntryOptions extends AppendTextOptions {
  /** As `WriteEntryOptions.holds`. */
  readonly holds?: boolean | undefined;
}

/** Every method fails with `USER_REQUIRED` for a user's block where there is no user. */
export interface BlockStore {
  get(key: BlockKey): Promise<StoredBlock | null>;
  /**
   * Reads the blocks of several keys, in their order, in few statements; the keys differ in nothing but their labels. A store
   * without it is asked for each block by itself.
   */
  getMany?(keys: readonly BlockKey[]): Promise<(StoredBlock | null)[]>;
  /** Replaces the content. Errors: `BLOCK_CONFLICT`. */
  set(key: BlockKey, content: string, options?: ReplaceBlockOptions): Promise<StoredBlock>;
  /** Appends to the content on a new line (see `appendText`), in the store: concurrent appends are all kept. Errors: `BLOCK_OVER_BUDGET` when the result exceeds `maxTokens`. */
  append(key: BlockKey, text: string, options: AppendTextOptions): Promise<StoredBlock>;
  /** Removes a block and its versions. */
  delete(key: BlockKey): Promise<void>;
  /** The blocks of a session, of its user or of a key, in the order of their labels; no prompts. */
  list(scope: MemoryScope): Promise<ListedBlock[]>;
  /** The users, or the keys, that have blocks or entries, removed ones among them, in the order of their UTF-8 bytes. One user's store knows only that user. */
  owners(kind: "user" | "key", options?: ListOptions): Promise<string[]>;
  /** The versions that are kept, the newest first; the present one is among them. A prompt has only the present one. */
  versions(key: BlockKey): Promise<StoredVersion[]>;
  /** Brings along versions that were kept elsewhere. One whose number is known stays as it is. */
  importVersions(key: BlockKey, versions: readonly StoredVersion[]): Promise<void>;
}

/** Names everything that is kept for a session, for its user or for a key, as `BlockKey` names one block. */
export type MemoryScope = Pick<BlockKey, "sessionId" | "scope">;

export interface ListedBlock extends StoredBlock {
  readonly label: string;
  /** ISO time. */
  readonly updatedAt: string;
}

/** A page of a list that is in the order of its names. */
export interface ListOptions {
  /** Only names behind this one. */
  readonly after?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
}

/** Names a collection of searchable entries, as `BlockKey` names a block. */
export interface EntryScope {
  readonly sessionId: string;
  readonly label: string;
  readonly scope?: BlockScope | undefined;
}

/** An entry as it is written. Of the fields of `EntryFields`, one that is left out stays as it is. */
export interface StoredEntry extends EntryFields {
  key: string;
  content: string;
  /**
   * Any value, as `JSON.stringify` keeps it, for programs. It is not searched, and has no versions. An entry with a value is
   * found by its content; an entry without one is also found by the words of its key.
   */
  value?: unknown;
}

/** How an entry is written or deleted. */
export interface WriteEntryOptions extends VersionOptions {
  /** The present content: if the entry has another one, nothing is written. Null stands for no entry. Default: any. */
  readonly expectedContent?: string | null | undefined;
  /** ISO time, for a copy of an entry from elsewhere that is not there yet. Default: now. */
  readonly createdAt?: string | undefined;
  /** ISO time, for a copy of an entry from elsewhere. Default: now. */
  readonly updatedAt?: string | undefined;
  /**
   * True: what is written holds from now on, so an end and an expiry that have passed are taken away. `ENTRY_CONFLICT` for an
   * entry that another one supersedes. Default: an end and an expiry that are left out stay.
   */
  readonly holds?: boolean | undefined;
  /**
   * True: it says what the entries say that it supersedes from now on. Where its `validFrom` is unknown, these end before all time,
   * so that no time shows both. Default: they end now then.
   */
  readonly merges?: boolean | undefined;
  /**
   * Keys of entries that supersede it from now on: it ends where they begin. They get a version, and stay as they are but for
   * their `supersedes`. `INVALID_ARGUMENT` for one that is not there, or that it supersedes itself. Default: none.
   */
  readonly supersededBy?: readonly string[] | undefined;
  /** All that has ended it, for a copy of an entry from elsewhere, whose predecessors and successors are not looked at. */
  readonly ends?: readonly EntryEnd[] | undefined;
}

export interface ListedEntry extends Pick<StoredEntry, "key" | "content" | "value">, EntryFact {
  /** ISO time when we learned that it ends, as the store's clock says; null: it holds. */
  readonly invalidatedAt: string | null;
  /** Keys of the entries of its scope that supersede it. */
  readonly supersededBy: readonly string[];
  /** All that ends it, of which the earliest counts: `validTo` as it was written, and each successor. */
  readonly ends: readonly EntryEnd[];
  /** ISO time. */
  readonly createdAt: string;
  /** ISO time. */
  readonly updatedAt: string;
}

/** An entry that a search found. */
export interface FoundEntry extends ListedEntry {
  /** How well it matches: a higher score is better. Compare scores within one search only. */
  readonly score: number;
  /** The reranker's own score, where it gave one: `threshold` is on this scale. */
  readonly rerankScore?: number;
}

export interface ListEntriesOptions extends ListOptions, EntryView {
  /** Only keys that begin with this. */
  readonly prefix?: string | undefined;
}

export interface SearchEntriesOptions
  extends EntryView,
    Readonly<Pick<SearchRequest, "rerank" | "threshold" | "signal">> {
  readonly limit: number;
  /** Milliseconds since 1970: only entries that were last written at this time or later. */
  readonly after?: number | undefined;
  /** Milliseconds since 1970: only entries that were last written before this time. */
  readonly before?: number | undefined;
  /** Only keys that begin with this. */
  readonly prefix?: string | undefined;
}

/** Every method fails with `USER_REQUIRED` for a user's entries where there is no user. */
export interface EntryStore {
  /** The labels under which there are entries of a session, of its user or of a key, and how many of them hold now, in the order of the labels. */
  labels(scope: MemoryScope): Promise<{ label: string; count: number }[]>;
  /** The entries that hold now, or those of a view, in the order of the UTF-8 bytes of their keys. Errors: `INVALID_ARGUMENT`. */
  list(scope: EntryScope, options?: ListEntriesOptions): Promise<ListedEntry[]>;
  /** How many entries hold now, or are in a view. Errors: `INVALID_ARGUMENT`. */
  count(scope: EntryScope, view?: EntryView): Promise<number>;
  /** An entry, one that has ended or expired too; null for none. */
  get(scope: EntryScope, key: string): Promise<ListedEntry | null>;
  /**
   * Writes an entry, its value too, in place when the key is known; fields of `EntryFields` that are left out stay as they are.
   * An entry that supersedes others ends them in the same transaction, at its `validFrom` or where that is unknown now; one that
   * began later ends at its own beginning. A predecessor that it no longer names holds again. Errors: `ENTRY_CONFLICT`,
   * `INVALID_ARGUMENT` for a value that is no JSON, a time that is none, an end before its beginning, predecessors that are not
   * there, and one that supersedes itself, through others too.
   */
  set(scope: EntryScope, entry: StoredEntry, options?: WriteEntryOptions): Promise<void>;
  /**
   * Appends to an entry's content on a new line (see `appendText`), in the store, creating it when absent. Its value and its
   * other fields stay. Errors: `BLOCK_OVER_BUDGET`, `ENTRY_CONFLICT`.
   */
  append(
    scope: EntryScope,
    entry: Pick<StoredEntry, "key" | "content">,
    options: AppendEntryOptions,
  ): Promise<Pick<StoredEntry, "key" | "content" | "value">>;
  /**
   * Removes an entry. The removal is a version, too, so that the entry can be restored; with `keepVersions: 0` nothing stays.
   * What it superseded holds again, unless something else ended it.
   * Errors: `ENTRY_CONFLICT`.
   */
  delete(scope: EntryScope, key: string, options?: WriteEntryOptions): Promise<void>;
  /** The entries that were removed and have versions, in the order of their labels, then keys. */
  removed(scope: MemoryScope): Promise<{ label: string; key: string }[]>;
  /** The versions that are kept of an entry, the newest first; the present one is among them. */
  versions(scope: EntryScope, key: string): Promise<StoredVersion[]>;
  /** Brings along versions that were kept elsewhere. One whose number is known stays as it is. */
  importVersions(scope: EntryScope, key: string, versions: readonly StoredVersion[]): Promise<void>;
  /** Ranked entries that match and hold now, or are in a view, best first. Errors: `SEARCH_UNAVAILABLE`, `INVALID_ARGUMENT`. */
  search(scope: EntryScope, query: string, options: SearchEntriesOptions): Promise<FoundEntry[]>;
}
