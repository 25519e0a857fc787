import type { SessionManager } from "../../manager/session-manager.js";
import { limitOf, namesOf } from "./chats.js";

/** A message that a search of a user's chats found. */
export interface ChatMatch {
  readonly chatId: string;
  readonly chatName: string;
  readonly messageId: string;
  readonly role: string;
  /** At most 240 characters of the message around what matched, which stands between « and ». */
  readonly snippet: string;
  /** ISO time. */
  readonly createdAt: string;
}

/** What `GET /?q=` answers: the best match first. */
export interface ChatMatches {
  readonly matches: ChatMatch[];
  /** Pass it as `cursor` to get the next page; null after the last. */
  readonly nextCursor: string | null;
}

/** Errors: `SEARCH_UNAVAILABLE`, `INVALID_ARGUMENT`. */
export async function searchChats(manager: SessionManager, query: string, url: URL): Promise<ChatMatches> {
  const cursor = url.searchParams.get("cursor") ?? undefined;
  const { results, nextCursor } = await manager.searchPage(query, { limit: limitOf(url.searchParams), cursor });
  const names = await namesOf(
    manager,
    results.map(({ sessionId }) => sessionId),
  );
  const matches = results.map(({ sessionId, id, role, snippet, createdAt }) => {
    return { chatId: sessionId, chatName: names.get(sessionId) ?? "", messageId: id, role, snippet, createdAt };
  });
  return { matches, nextCursor };
}
