import { assertStorableText, type Check, check, defineOptions, isJsonObject } from "@stemma/model";
import type { AppendMessageOptions, MetadataValue } from "@stemma/store";
import type { EntryName } from "../context/block-writes.js";
import type { DatedOptions, HistoryOptions, ReadHistoryOptions } from "./own-provider/provider.js";
import type { TurnPageOptions } from "./turn/log.js";

export const PARENT = check.messageId("a new root");
export const LEAF = check.messageId("the active leaf");

/** Fields that the metadata of messages can be compared with. */
export const comparable = check.rule<Readonly<Record<string, MetadataValue>>>(
  "an object of texts, numbers, booleans and nulls to compare with",
  (fields) =>
    isJsonObject(fields) &&
    Object.values(fields).every((value) => value === null || ["string", "number", "boolean"].includes(typeof value)),
);

/** Fields that a session's metadata can be compared with. What no database can keep is `INVALID_TEXT`. */
export const storableFields: Check<Readonly<Record<string, MetadataValue>>> = (fields, name) => {
  const wanted = comparable(fields, name);
  if (wanted) return wanted;
  for (const each of Object.entries(fields).flat()) if (typeof each === "string") assertStorableText(each, name);
};

export const APPEND = defineOptions<AppendMessageOptions>({ expectedLeaf: check.messageId("none") });
export const SET_LEAF = defineOptions<{ context?: "as-of" }>({ context: check.oneOf("as-of") });
export const DATED = defineOptions<DatedOptions>({ createdAt: check.flag });
export const READ = defineOptions<ReadHistoryOptions>({
  onCorrupt: check.oneOf("skip", "throw"),
  summaries: check.flag,
  createdAt: check.flag,
});
export const HISTORY = defineOptions<HistoryOptions>({
  ...READ.checks,
  leafId: LEAF,
  newestFirst: check.flag,
  after: check.text,
});
export const RECENT = defineOptions<{ minMessages?: number }>({ minMessages: check.whole(0) });
export const REPLACE = defineOptions<{ expectedVersion?: number }>({ expectedVersion: check.whole(0) });
export const VERSION = defineOptions<EntryName>({ key: check.text, scope: check.text });
export const REVERT = defineOptions<{ dryRun?: boolean }>({ dryRun: check.flag });
export const TURNS = defineOptions<TurnPageOptions>({ after: check.text, limit: check.whole(1) });
