import { findOrigin } from "../../formats/origin.js";
import type { ParsedSession, Skipped } from "../../formats/session-file.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessage } from "../../model/message.js";
import type { SessionStore, Store } from "../../storage/contract.js";
import { prepareSession } from "./prepare.js";

/** What an import did with one session. */
export interface ImportReport {
  session: string;
  name: string;
  /** Messages of the file that the session now has. */
  messages: number;
  /** Those of them that it had not before. */
  inserted: number;
  /** Those that were waiting for the results of tools, which the file now has. */
  updated: number;
  compactions: number;
  skipped: Skipped[];
}

/**
 * Writes a session's messages, summaries, active leaf, registry entry and usage in one transaction. What is stored already stays as it is, so
 * that a second import adds nothing, and one that was cut off is completed by the next. Null when the file's session has
 * nothing that can be stored.
 */
export async function importSession(
  store: Store,
  session: ParsedSession,
  sessionId = session.id,
): Promise<ImportReport | null> {
  const stored = store.session(sessionId);
  const nodes = await stored.tree();
  const known = new Set(nodes.map(({ id }) => id));
  const { tree, skipped } = prepareSession(session, (id) => known.has(id));
  const messages = tree.messages.map(({ message }) => message);
  if (messages.length === 0 && skipped.length > 0) return null;
  const { name, model, source, parentSessionId, userId, metadata, usage } = session;
  const isNews = messages.some(({ id }) => !known.has(id));
  const { inserted } = await stored.importTree({
    ...tree,
    // Whoever went on with the session since the last import stays where they are.
    activeLeafId: isNews ? tree.activeLeafId : undefined,
    session: { name, model, source, parentSessionId, userId, metadata },
    usage,
  });
  let updated = 0;
  for (const message of messages) {
    if (known.has(message.id) && (await completeMessage(stored, message))) updated += 1;
  }
  const compactions = tree.compactions?.length ?? 0;
  return { session: sessionId, name, messages: messages.length, inserted, updated, compactions, skipped };
}

// A file can grow by the result of a call whose message is stored already.
async function completeMessage(session: SessionStore, message: SessionMessage): Promise<boolean> {
  const format = ["pi", "openai"].find((name) => findOrigin(message, name) !== null);
  if (format === undefined) return false;
  const old = await session.message(message.id);
  const before = old === null ? null : findOrigin(old, format);
  if (old === null || before === null || before.length >= (findOrigin(message, format)?.length ?? 0)) return false;
  const parts = old.parts.map((part, index) => {
    const answered = message.parts[index];
    return part.state === "input-available" && answered !== undefined && answered.toolCallId === part.toolCallId
      ? answered
      : part;
  });
  const metadata = { ...asObject(old.metadata), [format]: asObject(message.metadata)[format] };
  await session.update({ ...old, parts, metadata });
  return true;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
