import { StemmaError } from "../../errors.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessage } from "../../model/message.js";
import type { Store } from "../../storage/contract.js";

/** Fields of a message's metadata under which formats note the pieces of the file that the message was made of. */
const FORMATS = ["pi", "openai", "claudeCode", "codex", "imported"];

/**
 * Gives a stored message what its file has grown by: the result of a call, or further parts. Parts that are complete stay
 * as they are. Resolves to whether there was anything.
 */
export async function completeMessage(store: Store, session: string, message: SessionMessage): Promise<boolean> {
  const format = FORMATS.find((name) => sourcesOf(message, name) > 0);
  // A message of one piece was complete when it was written.
  if (format === undefined) return false;
  for (;;) {
    const old = await store.session(session).message(message.id);
    const update = old === null ? null : completed(old, message, format);
    if (old === null || update === null) return false;
    try {
      await store.writeTogether([{ session, update, expected: old }]);
      return true;
    } catch (error) {
      // Another import, or a program, was faster.
      if (!StemmaError.isInstance(error, "MESSAGE_CHANGED")) throw error;
    }
  }
}

// Null where there is nothing to add.
function completed(old: SessionMessage, message: SessionMessage, format: string): SessionMessage | null {
  const before = sourcesOf(old, format);
  if (before === 0 || before >= sourcesOf(message, format)) return null;
  const parts = old.parts.map((part, index) => {
    const answered = message.parts[index];
    return part.state === "input-available" && answered !== undefined && answered.toolCallId === part.toolCallId
      ? answered
      : part;
  });
  const metadata = { ...asObject(old.metadata), [format]: asObject(message.metadata)[format] };
  return { ...old, parts: [...parts, ...message.parts.slice(parts.length)], metadata };
}

function sourcesOf(message: SessionMessage, format: string): number {
  const { entries, sources } = asObject(asObject(message.metadata)[format]);
  const noted = Array.isArray(entries) ? entries : sources;
  return Array.isArray(noted) ? noted.length : 0;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
