import { type JsonObject, sha256 } from "@stemma/model";
import type { FileInfo } from "./stemma/session-file.js";

/**
 * An id for a message (or a summary) whose file has none: made from the session, the message above it and its content, so
 * that the same file gives the same ids, a file that grew gives new ids only to what is new, and an edited message becomes
 * a branch.
 */
export function deriveId(sessionId: string, parentId: string | null, content: unknown): string {
  return `m-${digestOf([sessionId, parentId, content]).slice(0, 20)}`;
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-/i.test(text);
}

/** The key under which a line without an id of its own is kept. */
export function keyOfLine(line: JsonObject): string {
  return `line-${digestOf(line).slice(0, 32)}`;
}

const ID_FIELDS = ["id", "session_id", "sessionId", "chat_id", "chatId", "conversation_id", "conversationId"];
const NAME_FIELDS = ["title", "name"];

/**
 * The id of a session: what its record says, or else its file's name, its number in the file and a digest of its first two
 * messages, which stay the same when the file grows.
 */
export function deriveSessionId(
  record: JsonObject | null,
  file: FileInfo,
  number: number,
  messages: readonly unknown[],
): string {
  for (const field of ID_FIELDS) {
    const id = record?.[field];
    if (typeof id === "string" && id !== "") return id;
    if (typeof id === "number") return `${file.stem}-${id}`;
  }
  return `${file.stem}-${number}-${digestOf(messages.slice(0, 2)).slice(0, 8)}`;
}

/** The name a record gives itself, or null. */
export function findName(record: JsonObject | null): string | null {
  for (const field of NAME_FIELDS) {
    const name = record?.[field];
    if (typeof name === "string" && name.trim() !== "") return name;
  }
  return null;
}

const MAX_NAME_LENGTH = 60;

/** A name made of the first thing a user said; null when that has no text. */
export function nameFromText(text: string): string | null {
  const line = text.replace(/\s+/g, " ").trim().toWellFormed().replaceAll("\0", "");
  if (line === "") return null;
  const characters = Array.from(line);
  return characters.length <= MAX_NAME_LENGTH ? line : `${characters.slice(0, MAX_NAME_LENGTH - 1).join("")}…`;
}

function digestOf(value: unknown): string {
  return sha256(JSON.stringify(value));
}
