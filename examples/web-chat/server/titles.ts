import type { UIMessage } from "ai";
import type { SessionManager } from "stemma";
import type { ChatContext } from "stemma/ai-sdk";

const MAX_TITLE = 60;

/** Names a new chat by its first question. */
export async function nameChat(manager: SessionManager, { userId, chatId, body }: ChatContext): Promise<void> {
  const chats = manager.forUser(userId);
  if ((await chats.get(chatId))?.name !== "") return;
  const messages = Array.isArray(body.messages) ? (body.messages as Partial<UIMessage>[]) : [];
  const question = messages.find(({ role }) => role === "user");
  const text = Array.isArray(question?.parts)
    ? question.parts.map((part) => (part.type === "text" ? part.text : ""))
    : [];
  const title = titleOf(text.join(" "));
  if (title !== "") await chats.rename(chatId, title);
}

function titleOf(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim().toWellFormed();
  if (line.length <= MAX_TITLE) return line;
  const cut = line.slice(0, MAX_TITLE);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), MAX_TITLE / 2)).toWellFormed()}…`;
}
