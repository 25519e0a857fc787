import type { SessionMessage, SkillState } from "@stemma/model";
import { isJsonObject, isoTime, isStoredTime, type JsonObject } from "@stemma/model";
import type { ImportedCompaction, KeptItem, MemoryOwner, SessionDates, UsageRow } from "@stemma/store";

/**
 * A session as a file gave it: parents stand before their children. A long one comes in several pieces with the same id:
 * a parent stands in the same piece or in one before it, and a message that comes again has more of its parts.
 */
export interface ParsedSession {
  /** The file's own id, or one derived from the file, the same each time it is read. */
  id: string;
  name: string;
  /** Names that an earlier piece, or the file when it was shorter, may have given it. */
  formerNames?: readonly string[] | undefined;
  /** Where it came from, as the registry shows it; absent when that is not known. */
  source?: string | undefined;
  model?: string | undefined;
  parentSessionId?: string | undefined;
  userId?: string | undefined;
  metadata?: JsonObject | undefined;
  /** Of the whole file so far. */
  usage?: Usage | undefined;
  /** The usage by day and model. */
  usageRows?: readonly UsageRow[] | undefined;
  messages: ParsedMessage[];
  /** Oldest first. */
  compactions: ImportedCompaction[];
  /** The message that the conversation continues from; null for none; the last one when absent. */
  activeLeafId?: string | null | undefined;
  /** Facts that only our own files tell. */
  copy?: SessionCopy | undefined;
  /** Pieces of the file beside its messages, word for word. */
  kept?: readonly KeptPiece[] | undefined;
  /** Values of the file that are not in `messages` or `compactions`. */
  skipped: Skipped[];
  /** Content that the reader did not understand, beside the parts in which it kept such content. `skipped` tells of it, each kind once. */
  unread?: readonly Unread[] | undefined;
  /** True for a session of which nothing was understood: it is not imported. */
  isUnread?: boolean | undefined;
  /** True when further pieces of the session follow. */
  more?: boolean | undefined;
}

/** Where in a file something starts. */
export interface Position {
  /** From 1. */
  line: number;
  /** Its place in the value that starts there, as a JSON path; absent when it is that value. */
  path?: string | undefined;
}

/** A piece of a file that is kept as it stands there, beside the messages. */
export interface KeptPiece {
  /** Unique in the session, and the same each time the file is read. */
  key: string;
  /** The piece, or what is left of it without what a message holds. */
  source: JsonObject;
  at: Position;
  /** The message that what follows the piece is attached to; null before the first one. */
  messageId: string | null;
  /** The kind that a report counts it as; null for what belongs to a message or a summary. */
  kind: string | null;
}

/** A session of another store, beside its messages. */
export interface SessionCopy {
  /** Whose memory `items` is, where it is no session's; then there is nothing else. A session's id here is one that none has. */
  owner?: MemoryOwner | undefined;
  dates: SessionDates;
  skills?: SkillState | undefined;
  usageRows: readonly UsageRow[];
  items: KeptItem[];
}

export interface ParsedMessage {
  message: SessionMessage;
  parentId: string | null;
  /** ISO time at which it was stored elsewhere. */
  storedAt?: string | undefined;
  at: Position;
  /** The message before it in the file: it is attached there if its parent is missing. Default: the one before it in `messages`. */
  after?: string | null | undefined;
  /** True when an earlier piece of the session had the message, with less of it. */
  again?: boolean | undefined;
}

/** Content of a file that was not understood: what it is, and where it stands. */
export interface Unread {
  what: string;
  at: Position;
}

/** A piece of a file that was left out. */
export interface Skipped extends Position {
  why: string;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

/** A number of tokens as a file gives it; 0 for what is none. */
export function tokensOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0;
}

/** A cost as a file gives it; 0 for what is none. */
export function costOf(value: unknown): number {
  return typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : 0;
}

/** Facts about a file beside its sessions. */
export interface FileInfo {
  /** The file's name without folder and ending: what sessions without an id or a name are called after. */
  stem: string;
}

/** One value of a file, in order; `length` is that of its text. `listEnd` closes a list of values. */
export type Item =
  | { kind: "value"; value: unknown; at: Position; length: number }
  | { kind: "problem"; why: string; at: Position }
  | { kind: "listEnd" };

/** A format that can be read: one file each, listed in `formats.ts`. */
export interface ImportFormat {
  name: string;
  /** The format in words for the user. */
  about: string;
  /** True when a file whose first value this is has the format. */
  recognises(first: unknown): boolean;
  /** True where one that another format recognises is read too when this format is named. Missing for never. */
  alsoReads?(first: unknown): boolean;
  /** The sessions of a file, one at a time; no more than one is held. */
  read(items: AsyncIterable<Item>, file: FileInfo): AsyncIterable<ParsedSession>;
}

/** A text that says something; undefined for any other value. */
export function findText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The time that a text tells, as ISO text in UTC that a store takes; undefined for any other value. */
export function findTime(value: unknown): string | undefined {
  const time = typeof value === "string" ? isoTime(value) : null;
  return time !== null && isStoredTime(time) ? time : undefined;
}

/** True for a list that can be the parts of a message. */
export function areParts(value: unknown): boolean {
  return Array.isArray(value) && value.every((part) => isJsonObject(part) && typeof part.type === "string");
}

/** Why a value is left out that is nested deeper than a message may be. */
export const TOO_DEEP = "it is nested too deep to be read";
