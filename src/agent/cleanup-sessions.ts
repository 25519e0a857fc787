import { StemmaError } from "../errors.js";
import type { Store } from "../storage/contract.js";
import { isStore } from "../storage/store-of.js";
import { isStoreBacked, type StorageLike } from "./open-store.js";
import type { SessionStorage } from "./types.js";

const PAGE = 500;

/**
 * Deletes the sessions whose last update is older than `olderThan`: an age in milliseconds, or the `Date` before which it
 * was. Resolves to the ids that were deleted. Errors: `INVALID_ARGUMENT`.
 */
export async function cleanupSessions(storage: StorageLike, options: { olderThan: number | Date }): Promise<string[]> {
  const { olderThan } = options;
  const limit = olderThan instanceof Date ? olderThan.getTime() : Date.now() - olderThan;
  if (!Number.isFinite(limit)) {
    throw new StemmaError("INVALID_ARGUMENT", { olderThan }, "olderThan is an age in milliseconds, or a Date.");
  }
  const store = isStore(storage) ? storage : isStoreBacked(storage) ? await storage.openStore() : null;
  const updates = store === null ? statesOf(storage as SessionStorage) : entriesOf(store);
  const old: string[] = [];
  for await (const { id, updatedAt } of updates) if (updatedAt < limit) old.push(id);
  for (const id of old) await (store === null ? (storage as SessionStorage).delete(id) : store.sessions.delete(id));
  return old;
}

interface Update {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
}

async function* statesOf(storage: SessionStorage): AsyncGenerator<Update> {
  for (const id of await storage.list()) {
    const state = await storage.load(id);
    if (state) yield { id, updatedAt: state.updatedAt };
  }
}

async function* entriesOf(store: Store): AsyncGenerator<Update> {
  let cursor: string | undefined;
  do {
    const page: Awaited<ReturnType<Store["sessions"]["list"]>> = await store.sessions.list({ limit: PAGE, cursor });
    for (const { id, updated_at } of page.sessions) yield { id, updatedAt: Date.parse(updated_at) };
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
