import type { StoredMessage } from "../../storage/contract.js";
import type { PlacedEntry } from "./entries.js";

/** An entry that is no message, as a record keeps it. */
export interface KeptEntry extends PlacedEntry {
  /** The message that an entry below this one belongs to; null for none. */
  readonly parent: string | null;
}

/** What a transcript is made of, as it is stored. */
export interface StoredTranscript {
  /** In the order in which they were written, those of other programs among them. */
  readonly messages: readonly StoredMessage[];
  readonly kept: readonly KeptEntry[];
  /** The place that the next entry gets: what has a later one is not part of it yet. */
  readonly end: number;
}
