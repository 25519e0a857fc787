import { isoNow } from "../operations/clock.js";
import { makeRow } from "../operations/register.js";
import { parseMessageIds } from "../operations/version-row.js";
import { isText, isTime, isWhole } from "./findings.js";
import { type KeyedRow, needsSession, rowCheck } from "./row-check.js";

type VersionRow = KeyedRow<"kind" | "label" | "key" | "version" | "content" | "written_at" | "author" | "message_ids">;

const AUTHORS: readonly unknown[] = ["model", "program", "learning", "import"];

/** What makes it no version at all. */
function isNone({ kind, label, key, version, content }: VersionRow): boolean {
  const isBlock = kind === "block" && key === "" && isText(content);
  const isEntry = kind === "entry" && isText(key) && (content === null || isText(content));
  return !(isText(label) && isWhole(Number(version), 1) && (isBlock || isEntry));
}

/** What is wrong with what a version says of itself. */
function isMisnoted({ written_at, author, message_ids }: VersionRow): boolean {
  const isAuthor = author === null || AUTHORS.includes(author);
  return !isTime(written_at) || !isAuthor || parseMessageIds(message_ids as string | null) === null;
}

/** A row that is no version is removed. What one says of itself is taken back where it cannot be; its text stays. */
export const VERSIONS = rowCheck({
  table: "assistant_versions",
  rule: "version",
  key: ["session_id", "kind", "label", "key", "version"],
  columns: ["content", "written_at", "author", "message_ids"],
  idOf: ({ kind, key, label }) => (kind === "entry" ? key : label),
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [!isNone(row), "It is no version of a block or an entry."],
    [!isMisnoted(row), "When it was written, by whom or of which messages is none."],
  ],
  *mend(sql, row, write) {
    if (isNone(row)) return yield* write("DELETE FROM assistant_versions");
    if (needsSession(row)) yield* makeRow(sql, row.session_id);
    if (!isMisnoted(row)) return;
    const writtenAt = isTime(row.written_at) ? row.written_at : isoNow();
    yield* write("UPDATE assistant_versions SET written_at = ?, author = NULL, message_ids = NULL", writtenAt);
  },
});
