import { isJsonObject, isTooDeep, type JsonObject } from "../../model/json-object.js";
import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import { sameJson } from "../../model/same-json.js";
import { blocksOfParts, partsOfContent } from "./content.js";
import type { ClaudeSessionEntry } from "./types.js";

/** What a message keeps in `metadata.claude` of the entry that it came from, so that the entry can be given back. */
interface Origin {
  /** The entry's place in the transcript. */
  readonly n: number;
  /** The entry less its uuid and the content of its message, which the message's parts hold. */
  readonly rest?: JsonObject | undefined;
  /** The content was a text, not a list of blocks. */
  readonly isText?: true | undefined;
  /** The whole entry, where the parts would not give it back. */
  readonly whole?: JsonObject | undefined;
}

/** An entry with its place in the transcript. */
export interface PlacedEntry {
  readonly n: number;
  readonly entry: ClaudeSessionEntry;
}

const MAX_ID = 1024;

/** The message that an entry becomes; null for one that is kept as it is. */
export function findMessage({ n, entry }: PlacedEntry): SessionMessage | null {
  const { uuid, ...rest } = entry;
  const { type, timestamp, message } = entry;
  if ((type !== "user" && type !== "assistant") || !isId(uuid) || !isJsonObject(message) || isTooDeep(entry))
    return null;
  const { content, ...about } = message;
  if (!isContent(content)) return null;
  const parts = partsOfContent(content);
  const isText = typeof content === "string" ? true : undefined;
  const kept: Origin = { n, rest: { ...rest, message: about }, isText };
  const origin: Origin = sameJson(rebuilt(uuid, parts, kept), entry) ? kept : { n, whole: entry };
  const dated = typeof timestamp === "string" && !Number.isNaN(Date.parse(timestamp)) ? { createdAt: timestamp } : {};
  return { id: uuid, role: type, parts, ...dated, metadata: { claude: origin } };
}

/** The entry that a message came from, and its place; null for a message of another program. */
export function findEntry({ id, parts, metadata }: SessionMessage): PlacedEntry | null {
  const origin = isJsonObject(metadata) ? metadata.claude : undefined;
  if (!isJsonObject(origin) || typeof origin.n !== "number") return null;
  const { n, whole } = origin;
  const entry = isJsonObject(whole) ? whole : rebuilt(id, parts, origin as unknown as Origin);
  return { n, entry: entry as ClaudeSessionEntry };
}

function rebuilt(uuid: string, parts: SessionMessage["parts"], { rest = {}, isText }: Origin): JsonObject {
  const content = isText ? parts.map(({ text }) => text).join("") : blocksOfParts(parts);
  return { ...rest, uuid, message: { ...(rest.message as JsonObject), content } };
}

function isId(uuid: unknown): uuid is string {
  if (typeof uuid !== "string" || uuid === "" || uuid.length > MAX_ID) return false;
  return !isSummaryMessage({ id: uuid }) && uuid.isWellFormed() && !uuid.includes("\0");
}

function isContent(content: unknown): content is string | JsonObject[] {
  if (typeof content === "string") return true;
  return Array.isArray(content) && content.every((block) => isJsonObject(block) && typeof block.type === "string");
}
