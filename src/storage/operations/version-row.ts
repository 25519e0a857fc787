import type { StoredVersion } from "../contract.js";

/** What of a row makes a version. */
export const VERSION_COLUMNS = "version, content, written_at, author, written_in, message_ids, tool_call_id";

/** The version that a row holds. */
export function versionOf(row: VersionRow): StoredVersion {
  return {
    version: Number(row.version),
    content: row.content,
    writtenAt: row.written_at,
    author: row.author,
    sessionId: row.written_in,
    messageIds: parseMessageIds(row.message_ids) ?? [],
    toolCallId: row.tool_call_id,
  };
}

/** The ids that a row names as JSON, [] for none; null for what is no list of ids, which a read takes for none. */
export function parseMessageIds(json: string | null): string[] | null {
  if (json === null) return [];
  try {
    const ids: unknown = JSON.parse(json);
    return Array.isArray(ids) && ids.every((id) => typeof id === "string") ? ids : null;
  } catch {
    return null;
  }
}

/** A row of a version. */
export interface VersionRow {
  readonly version: number;
  readonly content: string | null;
  readonly written_at: string;
  readonly author: StoredVersion["author"];
  readonly written_in: string | null;
  readonly message_ids: string | null;
  readonly tool_call_id: string | null;
}
