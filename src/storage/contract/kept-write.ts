import type { BlockKey, EntryScope, ReplaceBlockOptions } from "./blocks.js";
import type { RecordScope, WriteRecordOptions } from "./records.js";
import type { VersionOptions } from "./versions.js";

/** One of several writes that are made together: as `set` makes it, or where the content is null as `delete` does. */
export type KeptWrite =
  | { readonly block: BlockKey; readonly content: string; readonly options?: ReplaceBlockOptions | undefined }
  | {
      readonly entries: EntryScope;
      readonly key: string;
      readonly content: string | null;
      readonly options?: VersionOptions | undefined;
    }
  | {
      readonly records: RecordScope;
      readonly key: string;
      readonly value: Uint8Array;
      readonly options?: WriteRecordOptions | undefined;
    };
