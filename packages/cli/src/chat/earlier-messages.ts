import { isSummaryMessage, readToolPart, type SessionMessage } from "@stemma/model";
import { describeTool } from "../render-message.js";
import type { Chat } from "./slash/slash-command.js";

const SHOWN = 6;
const MAX_TOOL_CHARS = 200;

/** Shows the end of a conversation that the chat goes on with. */
export async function showEarlier({ conversation, terminal }: Chat): Promise<void> {
  const { session } = conversation.session;
  const last: SessionMessage[] = [];
  for await (const message of session.history({ newestFirst: true })) {
    last.unshift(message);
    if (last.length > SHOWN) break;
  }
  if (last.length > SHOWN) terminal.note("… what came before: `stemma show`");
  for (const message of last.slice(-SHOWN)) showMessage(message, terminal);
}

function showMessage(message: SessionMessage, terminal: Chat["terminal"]): void {
  if (isSummaryMessage(message)) terminal.note("Summary of what came before:");
  for (const part of message.parts) {
    const tool = readToolPart(part);
    if (tool !== null) terminal.note(describeTool(tool, MAX_TOOL_CHARS));
    else if (part.type !== "text" || typeof part.text !== "string" || part.text === "") continue;
    else if (message.role === "user") terminal.earlier(part.text);
    else terminal.write(part.text);
  }
  terminal.endLine();
}
