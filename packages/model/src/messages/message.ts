import { kindOf, StemmaError, shorten } from "../errors.js";
import { isJsonObject, isTextTooDeep, MAX_DEPTH } from "../lib/json.js";
import { utf8Length } from "../lib/utf8.js";
import { assertFits, assertStorableText } from "./storable-text.js";
/**
 * One part of a message. Any object with a `type` is a part; the fields named here are those that Stemma itself reads.
 * Every part of the AI SDK's `UIMessage` fits.
 */
export interface SessionMessagePart {
  type: string;
  text?: string;
  reasoning?: string;
  toolName?: string;
  toolCallId?: string;
  state?: string;
  input?: unknown;
  output?: unknown;
  result?: unknown;
  errorText?: string;
  url?: unknown;
  mediaType?: string;
  [field: string]: unknown;
}

/**
 * A message as it is stored and given back: what was given, less the fields that JSON drops (`undefined`).
 * The AI SDK's `UIMessage` is structurally compatible.
 */
export interface SessionMessage {
  id: string;
  role: string;
  parts: SessionMessagePart[];
  createdAt?: Date | string | number;
  metadata?: unknown;
}

/** A message as it is read. It fits `UIMessage` too, so that a history can go to the AI SDK's functions as it is. */
export interface HistoryMessage extends SessionMessage {
  // biome-ignore lint/suspicious/noExplicitAny: any text is stored, and a UIMessage takes three.
  role: any;
  parts: HistoryMessagePart[];
}

export interface HistoryMessagePart extends SessionMessagePart {
  // biome-ignore lint/suspicious/noExplicitAny: any text is stored, and each part of a UIMessage takes one.
  type: any;
}

/** Ids of synthetic summary messages start with this; no stored message may. */
export const SUMMARY_ID_PREFIX = "compaction_";

/** True for the synthetic message that stands for a compacted range in a history. */
export function isSummaryMessage(message: { id: string }): boolean {
  return message.id.startsWith(SUMMARY_ID_PREFIX);
}

/** True for a summary's message, of anything that a host may pass. */
export function isSummary(value: unknown): boolean {
  const id = (value as Partial<SessionMessage> | null | undefined)?.id;
  return typeof id === "string" && isSummaryMessage({ id });
}

/** Throws `INVALID_MESSAGE` unless `value`, made by `givenMessage` from `text`, has an id, a role and parts that can be stored. */
export function assertMessage(value: object, text: string): asserts value is SessionMessage {
  const { id, role, parts, createdAt } = value as Partial<Record<keyof SessionMessage, unknown>>;
  if (parts === undefined && "content" in value) throw contentForParts(value);
  if (typeof id !== "string" || id === "") {
    const rule = "JSON writes the fields of an object itself, not those that it inherits or that its class computes.";
    throw invalidMessage(`A message needs an id: a non-empty string. ${rule}`);
  }
  assertFits(id, "A message id", "id", "INVALID_MESSAGE");
  assertStorableText(id, "A message id");
  if (isSummaryMessage({ id })) throw reservedId(id);
  if (typeof role !== "string" || role === "") throw invalidMessage("A message needs a role: a non-empty string.", id);
  assertFits(role, "A message role", "role", "INVALID_MESSAGE");
  assertStorableText(role, "A message role");
  if (!Array.isArray(parts)) throw invalidMessage("A message needs parts: an array, which may be empty.", id);
  for (const part of parts) {
    if (!isJsonObject(part) || typeof part.type !== "string") {
      throw invalidMessage(`Every part of a message is an object with a type; got ${kindOf(part)}.`, id);
    }
  }
  const dated = createdAt === undefined || typeof createdAt === "string" || typeof createdAt === "number";
  if (!dated && !(createdAt instanceof Date && !Number.isNaN(createdAt.getTime()))) {
    throw invalidMessage("createdAt is a valid Date (or a text or a number), or is left out.", id);
  }
  if (isTextTooDeep(text, value)) {
    throw invalidMessage(`A message may be nested at most ${MAX_DEPTH} levels deep: store deeper data as a text.`, id);
  }
}

/** The error for a message as the APIs of models have it, `{ role, content }`: it shows how the same is written here. */
export function contentForParts({
  id,
  role,
  content,
}: {
  id?: unknown;
  role?: unknown;
  content?: unknown;
}): StemmaError {
  const shown = {
    id: typeof id === "string" && id !== "" ? shorten(id) : "m1",
    role: typeof role === "string" && role !== "" ? shorten(role) : "user",
    text: typeof content === "string" ? shorten(content) : "Hello",
  };
  const [shownId, shownRole, text] = [shown.id, shown.role, shown.text].map((each) => JSON.stringify(each));
  const line = `{ id: ${shownId}, role: ${shownRole}, parts: [{ type: "text", text: ${text} }] }`;
  return invalidMessage(`A message has parts, not content. Write ${line}.`, typeof id === "string" ? id : undefined);
}

/** The error for the id of a summary that the session does not have. */
export function reservedId(id: string): StemmaError {
  return invalidMessage(
    `Ids that start with "${SUMMARY_ID_PREFIX}" are reserved for summaries; choose another id.`,
    id,
  );
}

export function invalidMessage(message: string, messageId?: string): StemmaError {
  return new StemmaError("INVALID_MESSAGE", { messageId }, message);
}

/** How many bytes a message has as JSON. */
export const jsonBytes = (message: SessionMessage): number => utf8Length(JSON.stringify(message));

/** Takes messages for `SessionStore.recent`, the newest first. `done` gives what that resolves to. */
export function takeRecent(maxBytes: number, minMessages: number) {
  const newestFirst: SessionMessage[] = [];
  let total = 0;
  return {
    /** Takes a message if there is room for it. */
    take(message: SessionMessage, bytes: number): boolean {
      if (newestFirst.length >= minMessages && total + bytes > maxBytes) return false;
      newestFirst.push(message);
      total += bytes;
      return true;
    },
    done: (truncated: boolean) => ({
      messages: newestFirst.reverse(),
      truncated,
      totalContentBytes: total,
    }),
  };
}
