import type { SessionMessage, SkillState } from "@stemma/model";
import { givenMetadata, isJsonObject, type JsonObject, mergeMetadata } from "@stemma/model";
import type { MemoryOwner, UsageRow } from "@stemma/store";
import { assertUserId } from "@stemma/store";
import {
  costOf,
  findText,
  findTime,
  type ImportFormat,
  type ParsedSession,
  type Position,
  type SessionCopy,
  type Skipped,
  tokensOf,
} from "./session-file.js";
import { readKeptLine } from "./store-lines.js";

interface OpenSession {
  session: ParsedSession & { copy: SessionCopy };
  header: JsonObject;
  at: Position;
  isEnded: boolean;
}

/**
 * Our own lines. For each session a header `{ stemma: 2, session, activeLeafId, messages, compactions, skills, usage }` (of
 * messages and compactions the counts; usage by day and model), then `{ message, parentId, storedAt }` for each message,
 * `{ compaction, coveredTokens }` for each summary, `{ kept }` for what is kept beside them, and `{ end: true }`. `createdAt: "Date"` beside a
 * message says that its `createdAt` is a `Date`, which JSON cannot. The memory of a user or a key has a header
 * `{ stemma: 2, memory: { user } }` or `{ key }` instead, that of an id without a session `{ session }`. Files of version 1 have neither `kept` nor `end`.
 */
export const stemmaJsonl: ImportFormat = {
  name: "jsonl",
  about: "what `stemma export` writes: a header, then a line for each message, summary, block, entry and record",
  recognises: (first) => isJsonObject(first) && typeof first.stemma === "number" && isHeader(first),
  async *read(items) {
    let open: OpenSession | null = null;
    let early: Skipped[] = [];
    let isOfVectors = false;
    for await (const item of items) {
      if (item.kind === "listEnd") continue;
      const { at } = item;
      const value = item.kind === "value" && isJsonObject(item.value) ? item.value : {};
      if (isHeader(value)) {
        if (open !== null) yield close(open);
        open = null;
        // Made of messages, and made anew of those that are imported.
        isOfVectors = isJsonObject(value.vectors);
        if (isOfVectors) continue;
        open = { session: openSession(value, early, at), header: value, at, isEnded: false };
        early = [];
        continue;
      }
      if (isOfVectors) continue;
      const why =
        item.kind === "problem"
          ? item.why
          : open === null
            ? "it stands before a session's header"
            : addLine(open, value, at);
      if (why !== null) (open?.session.skipped ?? early).push({ ...at, why });
    }
    if (open !== null) yield close(open);
  },
};

/** Why the line was left out, or null. */
function addLine(open: OpenSession, value: JsonObject, at: Position): string | null {
  const { session } = open;
  const { message, parentId, createdAt, storedAt, compaction, coveredTokens, kept, end } = value;
  if (end === true) {
    open.isEnded = true;
    return null;
  }
  if (kept !== undefined) {
    const item = readKeptLine(kept);
    if (item === null) return "it is nothing that is kept beside messages";
    session.copy.items.push(item);
    return null;
  }
  if (isJsonObject(message)) {
    const dated = createdAt === "Date" ? { ...message, createdAt: new Date(String(message.createdAt)) } : message;
    session.messages.push({
      message: dated as unknown as SessionMessage,
      parentId: findText(parentId) ?? null,
      storedAt: findTime(storedAt),
      at,
    });
    return null;
  }
  if (!isJsonObject(compaction)) return "neither a message nor a summary nor anything kept beside them";
  const { id, summary, fromMessageId, toMessageId, createdAt: made } = compaction;
  if (![id, summary, fromMessageId, toMessageId].every((field) => typeof field === "string"))
    return "the summary lacks a field";
  session.compactions.push({
    id: String(id),
    summary: String(summary),
    fromMessageId: String(fromMessageId),
    toMessageId: String(toMessageId),
    createdAt: findTime(made),
    coveredTokens: Number.isSafeInteger(coveredTokens) ? Number(coveredTokens) : undefined,
  });
  return null;
}

function close({ session, header, at, isEnded }: OpenSession): ParsedSession {
  const { messages, compactions } = header;
  const found = { messages: session.messages.length, compactions: session.compactions.length };
  const wanted = {
    messages: Number(messages ?? found.messages),
    compactions: Number(compactions ?? found.compactions),
  };
  if (found.messages < wanted.messages || found.compactions < wanted.compactions) {
    const why = `the header names ${wanted.messages} messages and ${wanted.compactions} summaries; the file holds ${found.messages} and ${found.compactions}`;
    session.skipped.push({ ...at, why });
  } else if (!isEnded && header.stemma !== 1) {
    session.skipped.push({ ...at, why: "the file ends before all that is kept beside the messages" });
  }
  return session;
}

/** True for the first line of a session, of its vectors, or of what is remembered outside of sessions. */
export const isHeader = (value: JsonObject): boolean =>
  isJsonObject(value.session) || findOwner(value.memory) !== undefined || isJsonObject(value.vectors);

/** Whose memory a header names. */
export function findOwner(value: unknown): MemoryOwner | undefined {
  if (!isJsonObject(value)) return undefined;
  const { user, key, session } = value;
  if (typeof user === "string") return { user };
  if (typeof key === "string") return { key };
  return typeof session === "string" ? { session } : undefined;
}

/** A session as its header tells it; what of it cannot be stored is left out, and told. */
export function openSession(
  header: JsonObject,
  skipped: Skipped[],
  at: Position,
): ParsedSession & { copy: SessionCopy } {
  const { session: given, activeLeafId, memory, skills, usage } = header;
  const owner = findOwner(memory);
  const session = isJsonObject(given) ? given : {};
  const storable = <T>(field: string, read: () => T): T | undefined => {
    try {
      return session[field] === undefined || session[field] === null ? undefined : read();
    } catch {
      skipped.push({ ...at, path: `$.session.${field}`, why: "it cannot be stored" });
      return undefined;
    }
  };
  const id = String(session.id ?? "");
  return {
    id,
    name: givenText(session.name) ?? (owner === undefined ? id : ownerName(owner)),
    source: givenText(session.source),
    model: givenText(session.model),
    parentSessionId: givenText(session.parent_session_id),
    userId: storable("user_id", () => givenUserId(session.user_id)),
    metadata: storable("metadata", () => mergeMetadata({}, givenMetadata(session.metadata))),
    usage: {
      inputTokens: tokensOf(session.input_tokens),
      outputTokens: tokensOf(session.output_tokens),
      cost: costOf(session.estimated_cost),
    },
    messages: [],
    compactions: [],
    activeLeafId: activeLeafId === null && header.stemma !== 1 ? null : findText(activeLeafId),
    copy: {
      owner,
      dates: {
        createdAt: findTime(session.created_at),
        updatedAt: findTime(session.updated_at),
        endReason: givenText(session.end_reason) ?? null,
      },
      skills: isSkillState(skills) ? skills : undefined,
      usageRows: Array.isArray(usage) ? usage.filter(isUsageRow) : [],
      items: [],
    },
    skipped,
  };
}

// An empty text is one: a chat without a title has it as its name, and the unnamed session as its id.
function givenText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function givenUserId(userId: unknown): string {
  assertUserId(userId);
  return userId;
}

export function ownerName(owner: MemoryOwner): string {
  const [[kind, name] = []] = Object.entries(owner);
  return `memory of ${kind} ${name}`;
}

function isSkillState(value: unknown): value is SkillState {
  return isJsonObject(value) && Array.isArray(value.loaded) && Array.isArray(value.unloaded);
}

function isUsageRow(value: unknown): value is UsageRow {
  if (!isJsonObject(value)) return false;
  const { day, model, requests, inputTokens, outputTokens, cost } = value;
  const numbers = [requests, inputTokens, outputTokens];
  return (
    /^\d{4}-\d\d-\d\d$/.test(String(day)) &&
    typeof model === "string" &&
    numbers.every(Number.isSafeInteger) &&
    Number.isFinite(cost)
  );
}
