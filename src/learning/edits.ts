import type { SessionMessage } from "../model/message.js";

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
}

/** What there is to learn from. */
export interface LearnRequest {
  /** The messages since the last time, oldest first. */
  readonly messages: readonly SessionMessage[];
  readonly blocks: readonly LearnBlock[];
  /** The entries that fit what the messages say best. */
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
  /** What is written; for a block with a schema a JSON Merge Patch, as an object or as JSON. */
  readonly content?: string | Readonly<Record<string, unknown>> | undefined;
  /** The ids of the messages that it comes from, one at least. */
  readonly messageIds: readonly string[];
}
