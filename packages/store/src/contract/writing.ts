import type { SessionMessage, SkillState } from "@stemma/model";
import type { EntryFields } from "./facts.js";
import type { BlockKey, EntryScope, ListedEntry, ReplaceBlockOptions, WriteEntryOptions } from "./memory.js";
import type { RecordScope, WriteRecordOptions } from "./records.js";
import type { NewSession, SessionChange, Usage, UsageRow } from "./session-registry.js";

/** Where an append attaches: `undefined` the active leaf, `null` a new root, otherwise a message id. */
export type ParentRef = string | null | undefined;

export interface AppendMessageOptions {
  /** The active leaf that the caller knows of, null for none. If it is another one, nothing is inserted. Default: any. */
  expectedLeaf?: string | null | undefined;
}

export interface MeasureOptions {
  /**
   * True: `visibleTokens` are measured in the same write where they are not known. Default: they are null then. A store need
   * not heed it.
   */
  readonly measured?: boolean | undefined;
}

export interface AppendResult {
  /** The ids that were not there before, in order. */
  readonly insertedIds: readonly string[];
  /** The id that a next message would continue from: the last one inserted, or the active leaf as it was. Null without one. */
  readonly lastId: string | null;
  /** Estimated tokens of the visible history up to there; null when it must be measured (`tokens`). */
  readonly visibleTokens: number | null;
  /** After a call with one message whose id was known: the message that is stored under that id. */
  readonly stored?: SessionMessage | null | undefined;
}

export interface UpsertResult {
  /** False when the id was known and its message was updated. */
  readonly inserted: boolean;
  /** Estimated tokens of the visible history; null when it must be measured (`tokens`). */
  readonly visibleTokens: number | null;
}

/** One of several writes that are made together. */
export type KeptWrite = BlockWrite | EntryWrite | EntryCheck | RecordWrite | RecordCheck | MessageWrite | RegistryWrite;

/**
 * The outcome of writes that were made together: for each the ids of the messages that it inserted, or of the leaf that it made
 * active; none for any other write.
 */
export type WrittenIds = readonly (readonly string[])[];

/** As `BlockStore.set` makes it. */
export interface BlockWrite {
  readonly block: BlockKey;
  readonly content: string;
  readonly options?: ReplaceBlockOptions | undefined;
}

/** As `EntryStore.set` makes it, or where the content is null as `delete` does. */
export interface EntryWrite extends EntryFields {
  readonly entries: EntryScope;
  readonly key: string;
  readonly content: string | null;
  readonly value?: unknown;
  readonly options?: WriteEntryOptions | undefined;
}

/**
 * Writes nothing: the other writes are made while the entry is as it was read, its fields included, and nobody changes it until
 * they are. Errors: `ENTRY_CONFLICT`.
 */
export interface EntryCheck {
  readonly entries: EntryScope;
  readonly asRead: ListedEntry;
}

/** As `RecordStore.set` makes it, or where the value is null as `delete` does. */
export interface RecordWrite {
  readonly records: RecordScope;
  readonly key: string;
  readonly value: Uint8Array | null;
  readonly options?: WriteRecordOptions | undefined;
}

/**
 * Writes nothing: the other writes are made while the record is at this version, and nobody deletes or replaces it until
 * they are. Errors: `RECORD_CONFLICT`.
 */
export interface RecordCheck {
  readonly records: RecordScope;
  readonly key: string;
  readonly atVersion: number;
}

/** As `append`, `appendSibling`, `upsert`, `update`, `setActiveLeaf`, `selectBranch` and `clear` of the `SessionStore` with this id make it. */
export type MessageWrite =
  | (AppendMessageOptions & {
      readonly session: string;
      readonly append: readonly SessionMessage[];
      readonly parent?: ParentRef;
      /** With true, `MESSAGE_EXISTS` where the session has one of the ids. Default: such a message stays as it is. */
      readonly onlyNew?: boolean | undefined;
    })
  | { readonly session: string; readonly appendSibling: SessionMessage; readonly of: string }
  | { readonly session: string; readonly upsert: SessionMessage; readonly parent?: ParentRef }
  /** With `expected`, `MESSAGE_CHANGED` where another message than this one is stored under the id. */
  | { readonly session: string; readonly update: SessionMessage; readonly expected?: SessionMessage | undefined }
  | { readonly session: string; readonly selectBranch: string }
  /** Null for no active leaf: what is appended next is a new root. With `expectedLeaf`, `LEAF_MOVED` where that does not hold. */
  | (AppendMessageOptions & { readonly session: string; readonly activeLeaf: string | null })
  | { readonly session: string; readonly clear: true };

/** As `update`, `addUsage` or `importUsage` of the `SessionRegistry` makes it for the session with this id. */
export type RegistryWrite =
  | { readonly registered: string; readonly change: SessionChange }
  | { readonly registered: string; readonly imported: Usage; readonly rows: readonly UsageRow[] }
  | { readonly registered: string; readonly usage: Usage; readonly model?: string | undefined };

/** A session as a file holds it: parents before their children. */
export interface ImportedTree {
  readonly messages: readonly ImportedMessage[];
  /** With true, a message whose id is already stored fails the call with `SESSION_CONFLICT`. Default: false; it is left alone. */
  readonly onlyNew?: boolean | undefined;
  /** Oldest first; one whose id is already stored is left alone. */
  readonly compactions?: readonly ImportedCompaction[] | undefined;
  /** Null for none. Default: the last message. */
  readonly activeLeafId?: string | null | undefined;
  /** The session's registry entry, made when there is none yet. */
  readonly session?: Omit<NewSession, "id"> | undefined;
  /** Which skills it has loaded and unloaded. Default: as it is. */
  readonly skills?: SkillState | undefined;
  /** The session's usage, counted when nothing is counted yet. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number } | undefined;
}

export interface ImportedCompaction extends NewCompaction {
  /** ISO time. Default: now. */
  readonly createdAt?: string | undefined;
  /** The estimated tokens that it covered when it was made elsewhere. Default: those that it covers now. */
  readonly coveredTokens?: number | undefined;
}

export interface ImportedMessage {
  readonly message: SessionMessage;
  readonly parentId: string | null;
  /** ISO time at which it was stored elsewhere. Default: now. */
  readonly storedAt?: string | undefined;
}

/** A summary laid over a range of one path. */
export interface StoredCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
  /** ISO time at which the compaction was made. */
  createdAt: string;
}

/** The range as the compactor saw it: a compaction commits only if it would see the same now. */
export interface CompactionGuard {
  /** The message that the history ended with; the id of a visible summary stands for the last message under it. */
  readonly leafId: string;
  /**
   * `digestRange` (`model/digest.ts`) of the range's messages as the history showed them: with summaries in place of the
   * messages that they cover, and unloaded skills emptied. So it differs once a message was edited, deleted or covered.
   */
  readonly digest: string;
}

export interface NewCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
}
