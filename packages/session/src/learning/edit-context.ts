import type { EntryFields, ListedEntry } from "@stemma/store";
import type { BlockDocument } from "../context/block-document.js";
import type { LearnEdit, LearnEntry } from "./edits.js";

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
