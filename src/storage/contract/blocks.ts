import type { StoredVersion, VersionOptions } from "./versions.js";

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

/** Every method fails with `USER_REQUIRED` for a user's block where there is no user. */
export interface BlockStore {
  get(key: BlockKey): Promise<StoredBlock | null>;
  /**
   * What `get` gives for each key, in their order, in few statements; the keys differ in nothing but their labels. A store
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
