import type { SessionMessage } from "@stemma/model";
import {
  beginning,
  CHARS_PER_TOKEN,
  cut,
  describeMessages,
  estimateStringTokens,
  isoTime,
  StemmaError,
  searchableText,
  senderName,
  shorten,
} from "@stemma/model";
import type { ListedBlock, ListedEntry, SessionInfo, StoredVersion } from "@stemma/store";
import { idOf, type Ref, uriOf } from "./fields.js";
import { blockKey, entryScope, findSession, hasLabel, type McpScope } from "./scope.js";

const TITLE_LENGTH = 80;

/** Something with an id that can be read: its whole text, and where it comes from. */
export interface Document {
  readonly id: string;
  readonly url: string;
  readonly title: string;
  readonly text: string;
  readonly metadata: Provenance;
}

export interface Provenance {
  readonly kind: "message" | "entry" | "block" | "session";
  readonly session?: string | undefined;
  readonly scope?: string | undefined;
  readonly writtenBy: string;
  /** ISO time; null where it is not known. */
  readonly time: string | null;
  /** ISO times of an entry, where it has them. */
  readonly validFrom?: string | undefined;
  readonly validTo?: string | undefined;
  readonly expiresAt?: string | undefined;
  /** The ids of the entries that took the place of an entry. */
  readonly supersededBy?: readonly string[] | undefined;
}

/** The id and the address of a thing, as answers have them. */
export function placeOf(ref: Ref): { id: string; url: string } {
  return { id: idOf(ref), url: uriOf(ref) };
}

/** One line of at most 80 characters. */
export function titleOf(text: string): string {
  return beginning(text.replace(/\s+/gu, " ").trim(), TITLE_LENGTH);
}

export function sessionTitle({ id, name }: Pick<SessionInfo, "id" | "name">): string {
  return titleOf(name || id || "The unnamed conversation");
}

/** Where a message comes from. */
export function messageProvenance(
  session: string,
  { role, name, createdAt }: { role: string; name?: string | undefined; createdAt: string | null },
): Provenance {
  const sender = name === undefined || name === "" ? "" : ` (${shorten(name, TITLE_LENGTH)})`;
  return {
    kind: "message",
    session: idOf({ kind: "session", session }),
    writtenBy: shorten(role, TITLE_LENGTH) + sender,
    time: createdAt,
  };
}

/** Where a block or an entry comes from: its newest version says who wrote it. */
export function memoryProvenance(
  kind: "entry" | "block",
  time: string,
  [newest]: readonly StoredVersion[],
  scope?: string | undefined,
): Provenance {
  const session = newest?.sessionId ?? null;
  return {
    kind,
    ...(scope !== undefined && { scope }),
    ...(session === null ? {} : { session: idOf({ kind: "session", session }) }),
    writtenBy: newest?.author ?? "unknown",
    time,
  };
}

/** Reads the document of an id that is not a whole conversation. Errors: `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `BLOCK_NOT_FOUND`. */
export function readDocument(scope: McpScope, ref: Exclude<Ref, { kind: "session" }>): Promise<Document> {
  switch (ref.kind) {
    case "message":
      return readMessage(scope, ref);
    case "block":
      return readBlock(scope, ref);
    case "entry":
      return readEntry(scope, ref);
  }
}

async function readMessage(scope: McpScope, ref: Ref & { kind: "message" }): Promise<Document> {
  const info = await findSession(scope, ref.session);
  const session = scope.store.session(ref.session);
  const message = await session.message(ref.message, { createdAt: true });
  if (message === null) {
    throw new StemmaError(
      "MESSAGE_NOT_FOUND",
      { id: ref.message },
      `There is no message "${ref.message}" in this session.`,
    );
  }
  return {
    ...placeOf(ref),
    title: `${sessionTitle(info)} · ${titleOf(message.role)}`,
    text: messageText(message),
    metadata: messageProvenance(ref.session, {
      role: message.role,
      name: senderName(message),
      createdAt: isoTime(message.createdAt),
    }),
  };
}

async function readBlock(scope: McpScope, ref: Ref & { kind: "block" }): Promise<Document> {
  const { label, session } = ref;
  if (session !== undefined) await findSession(scope, session);
  const owner = session === undefined ? scope.owner : { sessionId: session };
  const blocks = session === undefined && !hasLabel(scope, label) ? [] : await scope.store.blocks.list(owner);
  const block = blocks.find((each) => each.label === label);
  if (block === undefined) throw notFound("block", ref);
  const key = session === undefined ? blockKey(scope, label) : { ...owner, kind: "block" as const, label };
  return blockDocument(ref, block, await scope.store.blocks.versions(key));
}

/** A block that was listed, with its versions. */
export function blockDocument(
  ref: Ref & { kind: "block" },
  block: ListedBlock,
  versions: readonly StoredVersion[],
): Document {
  const metadata = memoryProvenance("block", block.updatedAt, versions);
  return { ...placeOf(ref), title: titleOf(block.label), text: block.content, metadata };
}

/** An entry as it is read. Errors: `BLOCK_NOT_FOUND`, `INVALID_ARGUMENT` for an unknown scope. */
export async function readEntry(scope: McpScope, ref: Ref & { kind: "entry" }): Promise<Document> {
  const { label, key, scope: name } = ref;
  const place = entryScope(scope, label, name);
  const entry = name !== undefined || hasLabel(scope, label) ? await scope.store.entries.get(place, key) : null;
  if (entry === null) throw notFound("entry", ref);
  const versions = await scope.store.entries.versions(place, key);
  // An adapter may keep a value and no text of it.
  const text = entry.content === "" && entry.value !== undefined ? JSON.stringify(entry.value) : entry.content;
  const { validFrom, validTo, expiresAt } = entry;
  const supersededBy = entry.supersededBy.map((by) => idOf({ ...ref, key: by }));
  const metadata = {
    ...memoryProvenance("entry", entry.updatedAt, versions, name),
    ...(validFrom !== null && { validFrom }),
    ...(validTo !== null && { validTo }),
    ...(supersededBy.length > 0 && { supersededBy }),
    ...(expiresAt !== null && { expiresAt }),
  };
  return { ...placeOf(ref), title: titleOf(key), text: whyEnded(entry, supersededBy) + text, metadata };
}

// In the text as well: resources have no metadata.
function whyEnded({ validFrom, validTo, expiresAt }: ListedEntry, supersededBy: readonly string[]): string {
  const now = new Date().toISOString();
  const by = supersededBy.length === 0 ? "" : `, superseded by ${supersededBy.join(", ")}`;
  const since = validFrom === null ? "" : ` from ${validFrom}`;
  if (validTo !== null && validTo <= now) return `[No longer true: it held${since} until ${validTo}${by}.]\n\n`;
  if (expiresAt !== null && expiresAt <= now) return `[Expired at ${expiresAt}.]\n\n`;
  return validFrom !== null && validFrom > now ? `[Not true yet: it begins at ${validFrom}.]\n\n` : "";
}

function notFound(what: string, ref: Ref): StemmaError {
  const id = idOf(ref);
  return new StemmaError("BLOCK_NOT_FOUND", { id }, `There is no ${what} "${id}".`);
}

/** The most that one message takes of a transcript. */
const SHARE_OF_ONE = 0.4;

/** All that a message says: its text, then its tool calls, results and files, each of these bounded. */
export function messageText(message: SessionMessage): string {
  const others = message.parts.filter((part) => part?.type !== "text");
  const text = searchableText(message);
  const rest = describeMessages([{ ...message, parts: others }]).slice(1);
  return [...(text === "" ? [] : [text]), ...rest].join("\n");
}

/**
 * A message as a part of a transcript: a line that tells id, role, sender and time, then what it says, at most two fifths of
 * `tokens`. No text of a message can pass for such a line.
 */
export function transcriptOf(message: SessionMessage, tokens: number): string {
  const lines = describeMessages([message], ({ id }) => id);
  return shortened(lines.join("\n"), Math.floor(tokens * SHARE_OF_ONE));
}

/** The share of a budget for the list or the text of an answer: the rest is for what stands around it. */
const SHARE = 0.85;

/** Estimated tokens of a value as JSON. */
export function jsonTokens(value: unknown): number {
  return estimateStringTokens(JSON.stringify(value));
}

/** The estimated tokens that the list or the text of an answer may have. */
export function roomOf(maxTokens: number): number {
  return Math.floor(maxTokens * SHARE);
}

/** The first items that fit into `tokens` as JSON, and at least one of them. */
export function fitting<T>(items: readonly T[], tokens: number): T[] {
  let room = tokens;
  const first = items.findIndex((item, index) => {
    room -= jsonTokens(item);
    return room < 0 && index > 0;
  });
  return items.slice(0, first < 0 ? items.length : first);
}

/** The piece of a text from `start` on that fits into `tokens` as JSON. It holds at least one character where there is one. */
export function pieceOf(text: string, start: number, tokens: number): string {
  let length = tokens * CHARS_PER_TOKEN;
  for (;;) {
    const piece = cut(text, start, Math.min(text.length, start + length));
    const excess = jsonTokens(piece) / tokens;
    if (excess <= 1 || length <= 2) return piece;
    length = Math.max(2, Math.floor(length / Math.max(excess, 1.1)));
  }
}

/** A text that fits into `tokens` as JSON, with a note where its end is left out. */
export function shortened(text: string, tokens: number): string {
  const piece = pieceOf(text, 0, tokens);
  return piece.length === text.length
    ? text
    : `${piece}… (${(text.length - piece.length).toLocaleString("en")} more characters)`;
}
