import type { MetadataValue, Residue, RowCounts, SessionOrder } from "@stemma/store";
import type { ContextBlockOptions } from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";

/** Makes the provider of one session. */
export type ProviderForSession<P extends ContextBlockProvider = ContextBlockProvider> = (sessionId: string) => P;

/**
 * A block of every session. A provider of ours is bound to each session, a function is called for each, any other object is
 * shared by all.
 */
export interface ManagedContextOptions extends Omit<ContextBlockOptions, "provider"> {
  provider?: ContextBlockProvider | ProviderForSession | undefined;
}

/** A manager is configured by its methods; there are no options yet. */
export type SessionManagerOptions = Record<string, never>;

export interface NewSessionOptions {
  /** Default: a random UUID. */
  id?: string;
  parentSessionId?: string;
  model?: string;
  source?: string;
  /** Whose the session is. Default: nobody's; on `manager.forUser(userId)` that user's. */
  userId?: string;
  /** The program's own fields: an object of at most 64 kB as JSON. Fields that are null are left out. Default: {}. */
  metadata?: Readonly<Record<string, unknown>>;
}

/** Which sessions a list gives, and how many. Whatever is left out does not narrow it. */
export interface SessionListOptions {
  /** Only sessions of this user. */
  userId?: string | undefined;
  /** Only ids that begin with this. */
  idPrefix?: string | undefined;
  /** Only names that hold this text; letters from A to Z match in both cases. */
  nameContains?: string | undefined;
  /** Only sessions whose metadata has each of these fields with just this value; null for a field that is not there. */
  metadata?: Record<string, MetadataValue> | undefined;
  /**
   * By the latest change (the default), by all tokens counted, by cost, by how many messages were written on all branches
   * (`messages`, which looks at every session), or as they were registered; the latest or highest first.
   */
  orderBy?: SessionOrder | undefined;
  /** Default 50. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before, of the same order. */
  cursor?: string | null | undefined;
}

/** A change of a session's entry. */
export interface SessionUpdate {
  name?: string | undefined;
  /** Fields that are written over those of the same name, each as a whole; null removes one. */
  metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** How something is erased. */
export interface EraseOptions {
  /**
   * Whether the database is rewritten at once, so that nothing of the text is left in its files; see `SessionManager.scrub`.
   * Default: if it has at most 16 MB.
   */
  scrub?: boolean | undefined;
}

/** A count of erased rows, and of what is left. */
export interface ErasureReceipt {
  readonly deleted: RowCounts;
  /** The rows that are left of it, read back in the same transaction: all 0, unless the store is damaged. */
  readonly remaining: RowCounts;
  /** Whether the text is left in the database's files. */
  readonly residue: Residue;
}

/** How long data is kept, and of which sessions. Without `olderThan`, `keepMessages` and `keepVersions` only expired entries are removed. */
export interface RetainOptions {
  /** Sessions that did not change for so many milliseconds, or since a `Date`, are removed. */
  olderThan?: number | Date | undefined;
  /**
   * How many messages a session keeps, of all branches, the newest. The active leaf, and what was written after it, stays too.
   * Messages whose parent is removed become roots.
   */
  keepMessages?: number | undefined;
  /** How many versions each block and entry keeps, the present one among them. */
  keepVersions?: number | undefined;
  /** Only this user's sessions and memory. */
  userId?: string | undefined;
  /** Only sessions whose metadata has these fields with these values; then nothing that is kept for users and keys. */
  metadata?: Readonly<Record<string, MetadataValue>> | undefined;
  /** Only count what would be removed. Default false. */
  dryRun?: boolean | undefined;
}

/** A count of the rows that retention removed, or would remove. */
export interface RetentionReceipt {
  readonly dryRun: boolean;
  /** Only kinds of which there is something to count. */
  readonly deleted: Partial<RowCounts>;
  /** Whether the removed text is left in the database's files. */
  readonly residue: Residue;
}
