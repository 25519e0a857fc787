import type { SessionMessage } from "../../model/message.js";
import { isToolPart } from "../../model/tool-calls.js";
import { noMessage } from "../../model/tree-errors.js";
import type { RememberedVersion, SessionStore } from "../../storage/contract.js";

/**
 * What was written from a message. Of a user's message that is all that the answer to it wrote. Of a message of the answer it
 * is what its tool calls wrote, and those of the messages below it, up to the user's next one. Errors: `MESSAGE_NOT_FOUND`.
 */
export async function writesOf(session: SessionStore, messageId: string): Promise<RememberedVersion[]> {
  const message = await session.message(messageId);
  if (message === null) throw noMessage(session.id, messageId);
  const own = await session.writes(messageId);
  if (message.role === "user") return own;
  const question = await questionOf(session, messageId);
  if (question === null) return own;
  const calls = await callsFrom(session, message);
  const answered = await session.writes(question.id);
  return [...own, ...answered.filter(({ toolCallId }) => toolCallId !== null && calls.has(toolCallId))];
}

async function questionOf(session: SessionStore, messageId: string): Promise<SessionMessage | null> {
  let above = await session.parent(messageId);
  while (above !== null && above.role !== "user") above = await session.parent(above.id);
  return above;
}

async function callsFrom(session: SessionStore, message: SessionMessage): Promise<ReadonlySet<string>> {
  const calls = new Set<string>();
  const left = [message];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    for (const part of each.parts) if (isToolPart(part)) calls.add(part.toolCallId);
    left.push(...(await session.branches(each.id)).filter(({ role }) => role !== "user"));
  }
  return calls;
}
