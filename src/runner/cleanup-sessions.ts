import { invalid } from "../errors.js";
import type { Store } from "../storage/contract.js";
import { allSessions } from "../storage/list-all.js";
import { isStore } from "../storage/store-of.js";
import { storeTime } from "../storage/store-time.js";
import { isStoreBacked, type StorageLike } from "./open-store.js";
import { isScopeKey } from "./storages/session-id.js";
import type { SessionStorage } from "./types.js";

/**
 * Deletes sessions whose last update is older than `olderThan` milliseconds, or earlier than the `Date`. Resolves to the
 * deleted ids. A session that cannot be read is kept, and its error is thrown after the others are done.
 * Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED`, `CORRUPT_STATE`.
 */
export async function cleanupSessions(storage: StorageLike, options: { olderThan: number | Date }): Promise<string[]> {
  const { olderThan } = options;
  const age = olderThan instanceof Date ? olderThan.getTime() : olderThan;
  if (!Number.isFinite(age)) throw invalid("olderThan must be an age in milliseconds, or a Date.", { olderThan });
  const limitAt = (now: number) => (olderThan instanceof Date ? age : now - age);
  const store = isStore(storage) ? storage : isStoreBacked(storage) ? await storage.openStore() : null;
  if (store !== null) return cleanStore(store, limitAt(await storeTime(store)));
  return cleanStorage(storage as SessionStorage, limitAt(Date.now()));
}

async function cleanStorage(storage: SessionStorage, limit: number): Promise<string[]> {
  const deleted: string[] = [];
  let failure: { error: unknown } | null = null;
  for (const id of await storage.list()) {
    // What is remembered of a user is no session.
    if (isScopeKey(id)) continue;
    try {
      const state = await storage.load(id);
      if (state === undefined || !(state.updatedAt < limit)) continue;
      await storage.delete(id);
      deleted.push(id);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== null) throw failure.error;
  return deleted;
}

async function cleanStore(store: Store, limit: number): Promise<string[]> {
  const { sessions } = store;
  const old: string[] = [];
  for await (const info of allSessions(store)) if (Date.parse(info.updated_at) < limit) old.push(info.id);
  const deleted: string[] = [];
  for (const id of old) {
    // Someone may have gone on with it meanwhile.
    const info = await sessions.get(id);
    if (info === null || !(Date.parse(info.updated_at) < limit)) continue;
    await sessions.delete(id);
    deleted.push(id);
  }
  return deleted;
}
