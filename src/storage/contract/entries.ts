import type { AppendTextOptions, BlockScope, ListOptions, MemoryScope } from "./blocks.js";
import type { StoredVersion, VersionOptions } from "./versions.js";

/** Names a collection of searchable entries, as `BlockKey` names a block. */
export interface EntryScope {
  readonly sessionId: string;
  readonly label: string;
  readonly scope?: BlockScope | undefined;
}

export interface StoredEntry {
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
}

export interface ListedEntry extends StoredEntry {
  /** ISO time. */
  readonly createdAt: string;
  /** ISO time. */
  readonly updatedAt: string;
}

/** An entry that a search found. */
export interface FoundEntry extends ListedEntry {
  /** How well it matches: a higher score is better. Compare scores within one search only. */
  readonly score: number;
}

export interface ListEntriesOptions extends ListOptions {
  /** Only keys that begin with this. */
  readonly prefix?: string | undefined;
}

export interface SearchEntriesOptions {
  readonly limit: number;
  /** Only keys that begin with this. */
  readonly prefix?: string | undefined;
}

/** Every method fails with `USER_REQUIRED` for a user's entries where there is no user. */
export interface EntryStore {
  /** The labels under which there are entries of a session, of its user or of a key, and how many, in the order of the labels. */
  labels(scope: MemoryScope): Promise<{ label: string; count: number }[]>;
  /** Entries in the order of the UTF-8 bytes of their keys. */
  list(scope: EntryScope, options?: ListEntriesOptions): Promise<ListedEntry[]>;
  count(scope: EntryScope): Promise<number>;
  get(scope: EntryScope, key: string): Promise<ListedEntry | null>;
  /** Writes an entry, its value too, in place when the key is known. Errors: `ENTRY_CONFLICT`, `INVALID_ARGUMENT` for a value that is no JSON. */
  set(scope: EntryScope, entry: StoredEntry, options?: WriteEntryOptions): Promise<void>;
  /**
   * Appends to an entry's content on a new line (see `appendText`), in the store, creating it when absent. Its value stays.
   * Errors: `BLOCK_OVER_BUDGET`.
   */
  append(scope: EntryScope, entry: StoredEntry, options: AppendTextOptions): Promise<StoredEntry>;
  /**
   * Removes an entry. The removal is a version, too, so that the entry can be restored; with `keepVersions: 0` nothing stays.
   * Errors: `ENTRY_CONFLICT`.
   */
  delete(scope: EntryScope, key: string, options?: WriteEntryOptions): Promise<void>;
  /** The entries that were removed and have versions, in the order of their labels, then keys. */
  removed(scope: MemoryScope): Promise<{ label: string; key: string }[]>;
  /** The versions that are kept of an entry, the newest first; the present one is among them. */
  versions(scope: EntryScope, key: string): Promise<StoredVersion[]>;
  /** Brings along versions that were kept elsewhere. One whose number is known stays as it is. */
  importVersions(scope: EntryScope, key: string, versions: readonly StoredVersion[]): Promise<void>;
  /** Ranked entries that match, best first. Errors: `SEARCH_UNAVAILABLE`. */
  search(scope: EntryScope, query: string, options: SearchEntriesOptions): Promise<FoundEntry[]>;
}
