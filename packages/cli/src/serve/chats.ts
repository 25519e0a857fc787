import type { ChatHandlerOptions } from "@stemma/chat";
import { StemmaError } from "@stemma/model";
import type { ServerHandler } from "@stemma/server";

/** The options of `chatHandler` but those that the server gives. */
export type ServedChat = Omit<ChatHandlerOptions, "sessions" | "authenticate" | "basePath" | "onError">;

/** Chats for `useChat`, at `/api/chat`: those of the user that a principal is. */
export function createChats(chat: ServedChat, onError: (error: unknown, requestId: string) => void): ServerHandler {
  return async (request, { principal, sessions, requestId }) => {
    const { userId } = principal;
    if (userId === undefined) throw new StemmaError("FORBIDDEN", {}, "Chats are a user's: use a user's key or token.");
    const { chatHandler } = await import("@stemma/chat");
    const handler = chatHandler({
      ...chat,
      sessions,
      authenticate: () => ({ userId }),
      basePath: "/api/chat",
      onError: (error) => onError(error, requestId),
    });
    return handler(request);
  };
}
