import type { SessionManager } from "stemma";
import type { FoundMessage } from "../shared/api";

const LIMIT = 30;

/** Messages of the user's chats, the best match first. */
export async function searchChats(chats: SessionManager, query: string): Promise<FoundMessage[]> {
  if (query.trim() === "") return [];
  const hits = await chats.search(query, { limit: LIMIT });
  const ids = [...new Set(hits.map(({ sessionId }) => sessionId))];
  const names = new Map(await Promise.all(ids.map(async (id) => [id, (await chats.get(id))?.name ?? ""] as const)));
  return hits.map(({ sessionId, id, role, snippet, createdAt }) => {
    return { chatId: sessionId, chatName: names.get(sessionId) ?? "", messageId: id, role, snippet, createdAt };
  });
}
