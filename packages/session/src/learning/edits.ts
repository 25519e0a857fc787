import { type SessionMessage, StemmaError } from "@stemma/model";
import type { EntryFields, ListedEntry } from "@stemma/store";
import type { BlockDocument } from "../context/block-document.js";

/** A block that may be learned into. */
export interface LearnBlock {
  readonly label: string;
  readonly description?: string;
  /** The text; of a block that holds entries how many there are. */
  readonly content: string;
  /** The most estimated tokens of the text, or of each entry. */
  readonly maxTokens: number;
  /** It holds entries under keys. */
  readonly holdsEntries: boolean;
  /** Of a block with a schema: its JSON Schema. The content is JSON. */
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** An entry of a block that holds entries. */
export interface LearnEntry {
  readonly label: string;
  readonly key: string;
  readonly content: string;
  /** When it began to hold, as ISO text, where that is known. */
  readonly validFrom?: string;
  /** Its subject, where that is known, as `home`. */
  readonly subject?: string;
}

/** Messages to learn from, and the memory that may change. */
export interface LearnRequest {
  /** The messages since the last time, oldest first; each with its date, `createdAt`, where that is known. */
  readonly messages: readonly SessionMessage[];
  readonly blocks: readonly LearnBlock[];
  /** The entries of which the messages may say the same, or which they make untrue. An edit can supersede these only. */
  readonly entries: readonly LearnEntry[];
}

/** One change of a block or an entry. */
export interface LearnEdit {
  /** `add` a line or an entry, `replace` one by another, `remove` one. */
  readonly action: "add" | "replace" | "remove";
  /** The block's. */
  readonly label: string;
  /** The entry's, of a block that holds entries; the field's that is removed, of a block with a schema. */
  readonly key?: string | undefined;
  /** The line that is replaced or removed, as it stands in the block. */
  readonly old?: string | undefined;
  /** The new text; for a block with a schema a JSON Merge Patch, as an object or as JSON. */
  readonly content?: string | Readonly<Record<string, unknown>> | undefined;
  /** The subject of an entry, in a word, as `home`: an edit closes only entries of its subject. */
  readonly subject?: string | undefined;
  /** When an entry began to hold: a year, a month, a date or an ISO time, in UTC where it has no zone. Default: when its message was written. */
  readonly validFrom?: string | undefined;
  /** When an entry ceased to hold, exclusive, in the same forms. Default: it holds. */
  readonly validTo?: string | undefined;
  /** Words to filter an entry by, besides those that it has. */
  readonly tags?: readonly string[] | undefined;
  /**
   * Keys of entries that are no longer true because of this one, which has a key of its own: ones that the function was shown, or that
   * an earlier edit of the answer adds. They are closed, not removed.
   */
  readonly supersedes?: readonly string[] | undefined;
  /** The ids of the messages that it comes from, one at least. */
  readonly messageIds: readonly string[];
}

/** One write that an edit makes: of a block's content, or of an entry, which null removes. */
export interface LearnedWrite {
  readonly label: string;
  readonly key: string | null;
  readonly content: string | null;
  /** The times of the entry. */
  readonly fields: EntryFields;
  /** Keys of entries that take its place. */
  readonly supersededBy: readonly string[];
  readonly edit: LearnEdit;
}

/** The state that edits are applied to. */
export interface EditContext {
  readonly blocks: readonly EditedBlock[];
  /** Gives an entry as it is now; null when there is none. */
  readonly entry: (label: string, key: string) => ListedEntry | null;
  /** Gives the entries that say the same as a new one, also those that have ended. */
  readonly same: (label: string, content: string) => readonly ListedEntry[];
  /** The entries that the learn function was shown. */
  readonly shown: readonly LearnEntry[];
  /** Keys of entries that the store refused to write as this answer says, with why. */
  readonly impossible: ReadonlyMap<string, string>;
  /** The messages that may be named, with when they were written where that is known. */
  readonly messages: ReadonlyMap<string, string | null>;
  /** Whether somebody removed what these messages said before. */
  readonly isForgotten: (label: string, content: string, messageIds: readonly string[]) => boolean;
}

/** A block as it is before it is edited. */
export interface EditedBlock {
  readonly label: string;
  readonly content: string;
  /** The most estimated tokens, of the content or of each entry. */
  readonly cap: number;
  readonly holdsEntries: boolean;
  /** Of a block with a schema. */
  readonly document: BlockDocument | null;
}

/** The error for an edit that is not made. */
export function refused(reason: string): StemmaError {
  return new StemmaError("LEARNING_FAILED", {}, reason);
}
