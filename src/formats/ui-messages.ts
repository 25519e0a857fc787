import { quote } from "../errors.js";
import type { JsonObject } from "../model/json-object.js";
import type { SessionMessage } from "../model/message.js";
import { type Conversation, findFirstMessage, nameSession, openSession, readSessions } from "./conversations.js";
import { deriveId } from "./identity.js";
import { areParts, type FileInfo, type ImportFormat, type ParsedSession } from "./session-file.js";

/** Messages as the AI SDK keeps them: `{ id, role, parts }`. They are taken over unchanged; one without an id gets one. */
export const uiMessages: ImportFormat = {
  name: "ui-messages",
  about: "AI SDK UIMessages (JSON or JSONL): a list, { messages: […] }, a list of those, or a message per line",
  recognises: (first) => Array.isArray(findFirstMessage(first)?.parts),
  read: (items, file) => readSessions(items, file, readSession),
};

function readSession(conversation: Conversation, file: FileInfo, number: number): ParsedSession {
  const session = openSession(conversation, file, number, "ui-messages");
  const seen = new Set<string>();
  let parentId: string | null = null;
  for (const { value, at } of conversation.messages) {
    const why = faultOf(value);
    if (why !== null) {
      session.skipped.push({ ...at, why });
      continue;
    }
    const id: string = value.id === undefined ? deriveId(session.id, parentId, value) : String(value.id);
    if (seen.has(id)) {
      session.skipped.push({ ...at, why: `the id ${quote(id)} stands in the file twice; the first is kept` });
      continue;
    }
    seen.add(id);
    // Whether it can be stored is for the importer to find out.
    const message = (value.id === undefined ? { id, ...value } : value) as unknown as SessionMessage;
    session.messages.push({ message, parentId, at });
    parentId = id;
  }
  return nameSession(session);
}

// Why a value is no message that can be stored.
function faultOf({ id, parts }: JsonObject): string | null {
  if (id !== undefined && typeof id !== "string") return "the message's id is not a text";
  if (!Array.isArray(parts)) return "the message has no parts";
  return areParts(parts) ? null : "a part of the message is not an object with a type";
}
