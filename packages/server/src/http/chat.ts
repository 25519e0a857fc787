import { StemmaError } from "@stemma/model";
import type { ServerChat, ServerHandler, ServerOptions } from "./server-options.js";

/** Chats for `useChat`: those of the user that a principal is. */
export function createChat(chat: ServerChat, { origins, onError }: ServerOptions): ServerHandler {
  return async (request, { principal, sessions, requestId }) => {
    const { userId } = principal;
    if (userId === undefined) throw new StemmaError("FORBIDDEN", {}, "Chats are a user's: use a user's key or token.");
    const { chatHandler } = await import("@stemma/chat");
    const handler = chatHandler({
      ...chat,
      sessions,
      authenticate: () => ({ userId }),
      basePath: "/api/chat",
      origins,
      onError: (error) => onError?.(error, requestId),
    });
    return handler(request);
  };
}
