import { StemmaError } from "../errors.js";
import { assertStorableText } from "./text.js";

/**
 * One part of a message. Any object with a `type` is a part; the fields named here are those that stemma itself reads.
 * Every part of the AI SDK's `UIMessage` fits.
 */
export interface SessionMessagePart {
  type: string;
  text?: string;
  toolName?: string;
  toolCallId?: string;
  state?: string;
  input?: unknown;
  output?: unknown;
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

/** Ids of synthetic summary messages start with this; no stored message may. */
export const SUMMARY_ID_PREFIX = "compaction_";

/** True for the synthetic message that stands for a compacted range in a history. */
export function isSummaryMessage(message: { id: string }): boolean {
  return message.id.startsWith(SUMMARY_ID_PREFIX);
}

/** The same for what a host gives, which may be no message at all. */
export function isSummary(value: unknown): boolean {
  const id = (value as Partial<SessionMessage> | null | undefined)?.id;
  return typeof id === "string" && isSummaryMessage({ id });
}

/** The message that a host gives: for an object of a class of its own that has `toJSON`, what that makes of it. */
export function givenMessage(value: unknown): SessionMessage {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  return (typeof toJSON === "function" ? toJSON.call(value, "") : value) as SessionMessage;
}

const MAX_ID_LENGTH = 1024;

/** Throws `INVALID_MESSAGE` unless `value` has an id, a role and parts that can be stored. */
export function assertMessage(value: unknown): asserts value is SessionMessage {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`A message is an object with id, role and parts; got ${describe(value)}.`);
  }
  const { id, role, parts, createdAt } = value as Partial<Record<keyof SessionMessage, unknown>>;
  if (typeof id !== "string" || id === "") throw invalid("A message needs an id: a non-empty string.");
  if (id.length > MAX_ID_LENGTH) throw invalid(`A message id has at most ${MAX_ID_LENGTH} characters.`, id);
  assertStorableText(id, "A message id");
  if (isSummaryMessage({ id })) {
    throw reservedId(id);
  }
  if (typeof role !== "string" || role === "") throw invalid("A message needs a role: a non-empty string.", id);
  assertStorableText(role, "A message role");
  if (!Array.isArray(parts)) throw invalid("A message needs parts: an array, which may be empty.", id);
  for (const part of parts) {
    if (typeof part !== "object" || part === null || typeof part.type !== "string") {
      throw invalid(`Every part of a message is an object with a type; got ${describe(part)}.`, id);
    }
  }
  const dated = createdAt === undefined || typeof createdAt === "string" || typeof createdAt === "number";
  if (!dated && !(createdAt instanceof Date && !Number.isNaN(createdAt.getTime()))) {
    throw invalid("createdAt is a valid Date (or a text or a number), or is left out.", id);
  }
}

/** The error for the id of a summary that the session does not have. */
export function reservedId(id: string): StemmaError {
  return invalid(`Ids that start with "${SUMMARY_ID_PREFIX}" are reserved for summaries; choose another id.`, id);
}

function invalid(message: string, messageId?: string): StemmaError {
  return new StemmaError("INVALID_MESSAGE", { messageId }, message);
}

function describe(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
}
