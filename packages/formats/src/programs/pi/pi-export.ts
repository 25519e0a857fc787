import type { JsonObject, SessionMessage, SessionMessagePart } from "@stemma/model";
import { mapped, type Pieces, readToolPart } from "@stemma/model";
import { findOrigin, inFileOrder, type OriginEntry, type Placed, without } from "../../origin.js";
import { pathOf, type StoredSession } from "../../stemma/store-lines.js";
import { splitSteps } from "../../steps.js";
import { contentOfOutput, contentOfParts, rebuildEntry } from "./pi-content.js";

/** An entry of the export. */
interface Piece {
  entry: JsonObject;
  /** Its place in the file it came from; null for ours. */
  n: number | null;
  messageId: string;
}

/**
 * A session as the lines of a pi session file, the header first. What came from such a file is given as it was; our own
 * messages and summaries follow in its form: without ids where the session came from a file of the first version and has
 * no branches, else in version 3. Of our messages, sources and data parts have no place in it; a summary stands for
 * everything before it on the active path.
 */
export function* toPi(session: StoredSession): Pieces<JsonObject[]> {
  const { info, activeLeafId } = session;
  const found = yield* piecesOf(session);
  const [first] = found;
  const fileHeader = first?.n === 0 ? first.entry : null;
  const pieces = fileHeader === null ? found : found.slice(1);
  const firstVersion =
    fileHeader !== null && fileHeader.version === undefined && pieces.some(({ entry }) => entry.parentId === undefined);
  if (firstVersion) chain(pieces);
  if (!firstVersion && pieces.length > 0 && pieces.at(-1)?.messageId !== activeLeafId)
    pieces.push(leafMarker(session, pieces));
  for (const piece of yield* summaryPieces(session, pieces)) pieces.push(piece);
  const header = fileHeader ?? { type: "session", version: 3, id: info.id, timestamp: info.created_at, cwd: "" };
  if (!firstVersion) return [header, ...nameEntry(fileHeader, session), ...pieces.map(({ entry }) => entry)];
  if (isLinear(session))
    return [header, ...(yield* mapped(pieces, ({ entry }) => without(withIndex(entry, pieces), "id", "parentId")))];
  const marker = pieces.at(-1)?.messageId === activeLeafId ? [] : [leafMarker(session, pieces)];
  const entries = yield* mapped([...pieces, ...marker], ({ entry }) => withKeptId(entry, pieces));
  return [{ ...header, version: 3 }, ...entries];
}

// Pieces in the order of their files. Entries without ids get some, so that ours can hang below them.
function* piecesOf({ messages }: StoredSession): Pieces<Piece[]> {
  const ends = new Map<string, string>();
  const placed: Placed<Piece>[] = [];
  for (const { message, parentId, createdAt } of messages) {
    yield;
    const above = parentId === null ? null : (ends.get(parentId) ?? parentId);
    const origins = findOrigin(message, "pi");
    const pieces: Piece[] =
      origins === null
        ? entriesOfMessage(message, above, createdAt).map((entry) => ({ entry, n: null, messageId: message.id }))
        : origins.map((origin) => ({
            entry: withId(rebuild(origin, message), message, origin),
            n: origin.n,
            messageId: message.id,
          }));
    const end = pieces.findLast(({ entry }) => isOnPath(entry))?.entry.id;
    if (typeof end === "string") ends.set(message.id, end);
    for (const source of pieces) placed.push({ n: source.n, source });
  }
  return yield* inFileOrder(placed);
}

function rebuild({ rest, whole, part }: OriginEntry, message: SessionMessage): JsonObject {
  if (rest === undefined) return whole ?? {};
  return rebuildEntry(rest, part === undefined ? contentOfParts(message.parts) : contentOfOutput(message.parts[part]));
}

function withId(entry: JsonObject, message: SessionMessage, { n, part }: OriginEntry): JsonObject {
  if (entry.id !== undefined) return entry;
  return { ...entry, id: part === undefined && isOnPath(entry) ? message.id : `${message.id}-${n}` };
}

// Entries that made a message, or went into one.
function isOnPath({ type }: JsonObject): boolean {
  return type === "message" || type === "custom_message" || type === "branch_summary";
}

function chain(pieces: Piece[]): void {
  let previous: unknown = null;
  for (const piece of pieces) {
    if (piece.n !== null) piece.entry = { ...piece.entry, parentId: previous };
    previous = piece.entry.id;
  }
}

function isLinear({ messages, activeLeafId }: StoredSession): boolean {
  const ids = messages.map(({ message }) => message.id);
  return messages.every(({ parentId }, index) => parentId === (ids[index - 1] ?? null)) && ids.at(-1) === activeLeafId;
}

/** An entry at the end of the file, where pi takes up a session. */
function leafMarker({ activeLeafId }: StoredSession, pieces: readonly Piece[]): Piece {
  const end =
    pieces.findLast(({ messageId, entry }) => messageId === activeLeafId && isOnPath(entry))?.entry.id ?? activeLeafId;
  const place = { id: `${String(end)}-leaf`, parentId: end, timestamp: new Date().toISOString() };
  const entry = { type: "custom", customType: "stemma-leaf", ...place };
  return { entry, n: null, messageId: String(activeLeafId) };
}

function* summaryPieces(session: StoredSession, pieces: readonly Piece[]): Pieces<Piece[]> {
  if (session.compactions.length === 0) return [];
  /** For each message of the path, the one behind it. */
  const nextOf = new Map<string, string | undefined>();
  let next: string | undefined;
  for (const { id } of (yield* pathOf(session)).reverse()) {
    nextOf.set(id, next);
    next = id;
    yield;
  }
  const fromFile = new Set<unknown>();
  const entryIds = new Map<string, unknown>();
  for (const { entry, messageId } of pieces) {
    if (entry.type === "compaction") fromFile.add(entry.summary);
    if (isOnPath(entry) && !entryIds.has(messageId)) entryIds.set(messageId, entry.id);
    yield;
  }
  let parentId = pieces.at(-1)?.entry.id ?? null;
  return session.compactions.flatMap(({ id, summary, fromMessageId, toMessageId, createdAt }) => {
    if (fromFile.has(summary) || !nextOf.has(toMessageId) || !nextOf.has(fromMessageId)) return [];
    const firstKeptEntryId = entryIds.get(nextOf.get(toMessageId) ?? "") ?? id;
    const entry = {
      type: "compaction",
      id,
      parentId,
      timestamp: createdAt,
      summary,
      firstKeptEntryId,
      tokensBefore: 0,
    };
    parentId = id;
    return [{ entry, n: null, messageId: String(session.activeLeafId) }];
  });
}

function nameEntry(fileHeader: JsonObject | null, { info }: StoredSession): JsonObject[] {
  if (fileHeader !== null) return [];
  return [{ type: "session_info", id: "name", parentId: null, timestamp: info.created_at, name: info.name }];
}

/** A compaction of the first version names what it keeps by its place, the header being 0. */
function withIndex(entry: JsonObject, pieces: readonly Piece[]): JsonObject {
  if (entry.type !== "compaction") return entry;
  const { firstKeptEntryId, ...rest } = entry;
  const at = pieces.findIndex(({ n, entry: { id } }) =>
    firstKeptEntryId === undefined ? isAfter(n, entry) : id === firstKeptEntryId,
  );
  return { ...rest, firstKeptEntryIndex: (at === -1 ? pieces.length : at) + 1 };
}

function withKeptId(entry: JsonObject, pieces: readonly Piece[]): JsonObject {
  if (entry.type !== "compaction" || entry.firstKeptEntryId !== undefined) return entry;
  const { firstKeptEntryIndex: _, ...rest } = entry;
  return { ...rest, firstKeptEntryId: pieces.find(({ n }) => isAfter(n, entry))?.entry.id ?? entry.id };
}

function isAfter(n: number | null, { firstKeptEntryIndex }: JsonObject): boolean {
  return n !== null && n >= Number(firstKeptEntryIndex);
}

const NO_USAGE = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/**
 * The entries of a message that did not come from pi: itself, step by step, each with the results of its tools behind it.
 * `createdAt` is its time where it has none of its own.
 */
function entriesOfMessage(message: SessionMessage, parentId: string | null, createdAt?: string): JsonObject[] {
  const date = new Date(message.createdAt ?? createdAt ?? 0);
  const timestamp = (Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString();
  const entries: JsonObject[] = [];
  const add = (entry: JsonObject): void => {
    const id = entries.length === 0 ? message.id : `${message.id}-${entries.length}`;
    const above = entries.length === 0 ? parentId : entries.at(-1)?.id;
    entries.push({ ...entry, id, parentId: above, timestamp });
  };
  const addMessage = (fields: JsonObject): void =>
    add({ type: "message", message: { ...fields, timestamp: Date.parse(timestamp) } });
  // Results that stand apart from their calls.
  const apart = message.parts.filter((part) => readToolPart(part)?.kind === "result");
  for (const part of apart) addMessage(resultOf(part));
  if (apart.length > 0 && apart.length === message.parts.length) return entries;
  if (message.role === "assistant") {
    const steps = splitSteps(message.parts, (part) => contentOfParts([part]).length > 0);
    for (const step of steps.length === 0 ? [[]] : steps) {
      addMessage(reply(step));
      for (const part of step) if (readToolPart(part)?.kind === "both") addMessage(resultOf(part));
    }
  } else if (message.role === "user") {
    addMessage({ role: "user", content: contentOfParts(message.parts) });
  } else {
    // pi has no other roles: what an extension says is the nearest.
    add({ type: "custom_message", customType: message.role, content: contentOfParts(message.parts), display: true });
  }
  return entries;
}

function reply(parts: readonly SessionMessagePart[]): JsonObject {
  return {
    role: "assistant",
    content: contentOfParts(parts),
    api: "unknown",
    provider: "unknown",
    model: "unknown",
    usage: NO_USAGE,
    stopReason: parts.some((part) => readToolPart(part) !== null) ? "toolUse" : "stop",
  };
}

function resultOf(part: SessionMessagePart): JsonObject {
  const tool = readToolPart(part);
  return {
    role: "toolResult",
    toolCallId: tool?.toolCallId,
    toolName: tool?.toolName,
    content: contentOfOutput(part),
    isError: tool?.errorText != null,
  };
}
