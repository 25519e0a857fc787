import { StemmaError } from "../../errors.js";
import type { MemoryScope, Store } from "../../storage/contract.js";
import { type KeptItem, writeKept } from "../../storage/kept-items.js";
import type { SessionCopy, Skipped } from "../session-file.js";
import { scopeOf } from "../store-lines.js";
import type { ImportReport } from "./report.js";

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cost: 0 };

/** Writes what is kept beside the messages of a session, unless it is there, and dates one that is new. */
export async function completeCopy(
  store: Store,
  sessionId: string,
  { items, usageRows, dates }: SessionCopy,
  isNew: boolean,
  skipped: Skipped[],
): Promise<void> {
  await writeItems(store, { sessionId }, items, skipped);
  if (!isNew || (await store.sessions.get(sessionId)) === null) return;
  await store.sessions.importUsage(sessionId, NO_USAGE, usageRows);
  await store.sessions.restore(sessionId, dates);
}

/** Writes what is remembered outside of sessions, unless it is there. Errors: `SESSION_OWNED` for another user's on a store of one user. */
export async function importMemory(store: Store, name: string, { owner, items }: SessionCopy): Promise<ImportReport> {
  const skipped: Skipped[] = [];
  const [target, scope] = scopeOf(store, owner ?? { session: "" });
  await writeItems(target, scope, items, skipped);
  return { session: "", name, messages: 0, inserted: 0, updated: 0, compactions: 0, kept: {}, skipped };
}

async function writeItems(store: Store, scope: MemoryScope, items: readonly KeptItem[], skipped: Skipped[]) {
  for (const item of items) {
    try {
      await writeKept(store, scope, item);
    } catch (error) {
      if (!StemmaError.isInstance(error) || !error.code.startsWith("INVALID_")) throw error;
      skipped.push({ line: 0, why: error.message });
    }
  }
}
