/** Whose a block is: the session's, its user's in all sessions of the user, or that of all who name this key. */
export type BlockScope = "session" | "user" | { readonly key: string };

/**
 * Names a block: a session's own ("" is the unnamed session, whose blocks are also the shared ones), or its frozen prompt.
 * Two keys of one scope are the same block only if kind, label, and whose it is are equal.
 */
export interface BlockKey {
  /** The session that it is used in; with another scope than the session's, "" stands for none. */
  readonly sessionId: string;
  readonly kind: "block" | "prompt";
  readonly label: string;
  /** Default: the session's. The user is the one that the store is confined to (`Store.forUser`), else the session's. */
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

/** Every method fails with `USER_REQUIRED` for a user's block where there is no user. */
export interface BlockStore {
  get(key: BlockKey): Promise<StoredBlock | null>;
  /** Replaces the content. `expectedVersion` 0 means "must not exist yet". Errors: `BLOCK_CONFLICT`. */
  set(key: BlockKey, content: string, options?: { expectedVersion?: number | undefined }): Promise<StoredBlock>;
  /** Appends to the content on a new line (see `appendText`), in the store: concurrent appends are all kept. Errors: `BLOCK_OVER_BUDGET` when the result exceeds `maxTokens`. */
  append(key: BlockKey, text: string, options: { maxTokens: number }): Promise<StoredBlock>;
  delete(key: BlockKey): Promise<void>;
}

/** Names a collection of searchable entries, as `BlockKey` names a block. */
export interface EntryScope {
  readonly sessionId: string;
  readonly label: string;
  readonly scope?: BlockScope | undefined;
}

export interface StoredEntry {
  key: string;
  content: string;
}

/** Every method fails with `USER_REQUIRED` for a user's entries where there is no user. */
export interface EntryStore {
  count(scope: EntryScope): Promise<number>;
  get(scope: EntryScope, key: string): Promise<StoredEntry | null>;
  /** Writes an entry, in place when the key is known. */
  set(scope: EntryScope, entry: StoredEntry): Promise<void>;
  /** Appends to an entry on a new line (see `appendText`), in the store, creating it when absent. Errors: `BLOCK_OVER_BUDGET`. */
  append(scope: EntryScope, entry: StoredEntry, options: { maxTokens: number }): Promise<StoredEntry>;
  delete(scope: EntryScope, key: string): Promise<void>;
  /** Ranked entries that match, best first. Errors: `SEARCH_UNAVAILABLE`. */
  search(scope: EntryScope, query: string, options: { limit: number }): Promise<StoredEntry[]>;
}
