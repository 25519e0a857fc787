import type { SessionMessage } from "../model/message.js";
import type { Store } from "../storage/contract.js";

/** The stored messages from the root to `leafId` (default: the active leaf), without summaries; of `limit`, the last so many. */
export async function* pathTo(
  store: Store,
  sessionId: string,
  leafId?: string,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<SessionMessage> {
  const end = leafId ?? (await store.history.leaf(sessionId))?.id;
  const parents = new Map((await store.history.tree(sessionId)).map(({ id, parentId }) => [id, parentId]));
  const ids: string[] = [];
  for (let id = end ?? null; id !== null && ids.length < limit; id = parents.get(id) ?? null) ids.push(id);
  for (const id of ids.reverse()) {
    const message = await store.history.message(sessionId, id);
    // Null when it was deleted since the tree was read.
    if (message !== null) yield message;
  }
}
