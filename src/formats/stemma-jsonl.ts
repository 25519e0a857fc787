import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessage } from "../model/message.js";
import { findText, findTime } from "./found.js";
import { readKeptLine } from "./kept-lines.js";
import type { ImportFormat, ParsedSession, Position, SessionCopy, Skipped } from "./session-file.js";
import { isHeader, openSession } from "./stemma-header.js";

interface OpenSession {
  session: ParsedSession & { copy: SessionCopy };
  header: JsonObject;
  at: Position;
  /** Its last line was there. */
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
