import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessage } from "../../model/message.js";
import type { SessionStore } from "../../storage/contract.js";

/** Fields of a message's metadata under which formats note the pieces of the file that the message was made of. */
const FORMATS = ["pi", "openai", "claudeCode", "codex", "imported"];

/**
 * Gives a stored message what its file has grown by: the result of a call, or further parts. Parts that are complete stay
 * as they are. Resolves to whether there was anything.
 */
export async function completeMessage(session: SessionStore, message: SessionMessage): Promise<boolean> {
  const format = FORMATS.find((name) => sourcesOf(message, name) > 0);
  // A message of one piece was complete when it was written.
  if (format === undefined) return false;
  const old = await session.message(message.id);
  const before = old === null ? 0 : sourcesOf(old, format);
  if (old === null || before === 0 || before >= sourcesOf(message, format)) return false;
  const parts = old.parts.map((part, index) => {
    const answered = message.parts[index];
    return part.state === "input-available" && answered !== undefined && answered.toolCallId === part.toolCallId
      ? answered
      : part;
  });
  const metadata = { ...asObject(old.metadata), [format]: asObject(message.metadata)[format] };
  await session.update({ ...old, parts: [...parts, ...message.parts.slice(parts.length)], metadata });
  return true;
}

function sourcesOf(message: SessionMessage, format: string): number {
  const { entries, sources } = asObject(asObject(message.metadata)[format]);
  const noted = Array.isArray(entries) ? entries : sources;
  return Array.isArray(noted) ? noted.length : 0;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
