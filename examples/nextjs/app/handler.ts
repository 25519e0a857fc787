import { anthropic } from "@ai-sdk/anthropic";
import { SessionManager } from "stemma";
import { type ChatHandler, chatHandler } from "stemma/ai-sdk";
import { sqlite } from "stemma/sqlite";

function open(): ChatHandler {
  const sessions = SessionManager.create(sqlite("chats.db"))
    .withContext("memory", { description: "What you know about the user", maxTokens: 1000, scope: "user" })
    .withCachedPrompt();
  return chatHandler({
    sessions,
    model: anthropic(process.env.MODEL ?? "claude-sonnet-5-5"),
    // Whoever is signed in, by your own means. Null answers 401.
    authenticate: () => ({ userId: "me" }),
  });
}

let opened: ChatHandler | undefined;

/** Opened by the first request: a build imports this file, and needs no database. */
export const handler: ChatHandler = (request, context) => {
  opened ??= open();
  return opened(request, context);
};
