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
  /** Null for what was written before versions were kept. */
  readonly author: Author | null;
  /** The session in which it was written; null where it is not known, or was none. */
  readonly sessionId: string | null;
  readonly messageIds: readonly string[];
  readonly toolCallId: string | null;
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
