import type { SessionStore, StoredCompaction } from "../../storage/contract.js";

/** The compactions of which a message is part of the range, oldest first. */
export async function compactionsOver(session: SessionStore, messageId: string): Promise<StoredCompaction[]> {
  const found: StoredCompaction[] = [];
  let path = new Map<string, number>();
  // The path to the newest one usually holds all of them.
  for (const compaction of (await session.compactions()).reverse()) {
    if (!path.has(compaction.toMessageId)) {
      const rows = await session.rowStats(compaction.toMessageId);
      path = new Map(rows.map(({ id }, index) => [id, index]));
    }
    const [from, at, to] = [compaction.fromMessageId, messageId, compaction.toMessageId].map((id) => path.get(id));
    if (from !== undefined && at !== undefined && to !== undefined && from <= at && at <= to) found.unshift(compaction);
  }
  return found;
}
