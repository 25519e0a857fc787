import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessage } from "../model/message.js";
import { givenMetadata, mergeMetadata } from "../model/session-metadata.js";
import { isoTime } from "../model/text.js";
import type { SessionInfo, Store } from "../storage/contract.js";
import { assertUserId } from "../storage/session-id.js";
import {
  costOf,
  type ImportFormat,
  type ParsedSession,
  type Position,
  type Skipped,
  tokensOf,
} from "./session-file.js";

const VERSION = 1;

interface OpenSession {
  session: ParsedSession;
  header: JsonObject;
  at: Position;
}

/**
 * Our own lines. For each session a header `{ stemma: 1, session, activeLeafId, messages, compactions }` (the last two are
 * counts), then `{ message, parentId }` for each message and `{ compaction }` for each summary. `createdAt: "Date"` beside a
 * message says that its `createdAt` is a `Date`, which JSON cannot.
 */
export const stemmaJsonl: ImportFormat = {
  name: "jsonl",
  about: "what `stemma export` writes: a header, then a message or a summary per line",
  recognises: (first) => isJsonObject(first) && typeof first.stemma === "number" && isJsonObject(first.session),
  async *read(items) {
    let open: OpenSession | null = null;
    let early: Skipped[] = [];
    for await (const item of items) {
      if (item.kind === "listEnd") continue;
      const { at } = item;
      const value = item.kind === "value" && isJsonObject(item.value) ? item.value : {};
      if (isJsonObject(value.session)) {
        if (open !== null) yield close(open);
        open = { session: openSession(value, early, at), header: value, at };
        early = [];
        continue;
      }
      const why =
        item.kind === "problem"
          ? item.why
          : open === null
            ? "it stands before a session's header"
            : addLine(open.session, value, at);
      if (why !== null) (open?.session.skipped ?? early).push({ ...at, why });
    }
    if (open !== null) yield close(open);
  },
};

/** The lines of a session: every message of every branch, the summaries, and the active leaf. */
export async function* exportJsonl(store: Store, session: SessionInfo): AsyncGenerator<string> {
  const stored = store.session(session.id);
  const [nodes, compactions, leaf] = await Promise.all([stored.tree(), stored.compactions(), stored.leaf()]);
  const counts = { messages: nodes.length, compactions: compactions.length };
  yield JSON.stringify({ stemma: VERSION, session, activeLeafId: leaf?.id ?? null, ...counts });
  for await (const { message, parentId } of stored.messages()) {
    const dated = message.createdAt instanceof Date ? { createdAt: "Date" } : {};
    yield JSON.stringify({ message, parentId, ...dated });
  }
  for (const compaction of compactions) yield JSON.stringify({ compaction });
}

function openSession({ session: given, activeLeafId }: JsonObject, skipped: Skipped[], at: Position): ParsedSession {
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
    name: findText(session.name) ?? id,
    source: findText(session.source) ?? "",
    model: findText(session.model),
    parentSessionId: findText(session.parent_session_id),
    userId: storable("user_id", () => givenUserId(session.user_id)),
    metadata: storable("metadata", () => mergeMetadata({}, givenMetadata(session.metadata))),
    usage: {
      inputTokens: tokensOf(session.input_tokens),
      outputTokens: tokensOf(session.output_tokens),
      cost: costOf(session.estimated_cost),
    },
    messages: [],
    compactions: [],
    activeLeafId: findText(activeLeafId),
    skipped,
  };
}

function givenUserId(userId: unknown): string {
  assertUserId(userId);
  return userId;
}

/** Why the line was left out, or null. */
function addLine(session: ParsedSession, value: JsonObject, at: Position): string | null {
  const { message, parentId, createdAt, compaction } = value;
  if (isJsonObject(message)) {
    const dated = createdAt === "Date" ? { ...message, createdAt: new Date(String(message.createdAt)) } : message;
    session.messages.push({ message: dated as unknown as SessionMessage, parentId: findText(parentId) ?? null, at });
    return null;
  }
  if (!isJsonObject(compaction)) return "neither a message nor a summary";
  const { id, summary, fromMessageId, toMessageId, createdAt: made } = compaction;
  if (![id, summary, fromMessageId, toMessageId].every((field) => typeof field === "string"))
    return "the summary lacks a field";
  session.compactions.push({
    id: String(id),
    summary: String(summary),
    fromMessageId: String(fromMessageId),
    toMessageId: String(toMessageId),
    createdAt: isoTime(findText(made)) ?? undefined,
  });
  return null;
}

function close({ session, header, at }: OpenSession): ParsedSession {
  const { messages, compactions } = header;
  const found = { messages: session.messages.length, compactions: session.compactions.length };
  const wanted = {
    messages: Number(messages ?? found.messages),
    compactions: Number(compactions ?? found.compactions),
  };
  if (found.messages < wanted.messages || found.compactions < wanted.compactions) {
    const why = `the header names ${wanted.messages} messages and ${wanted.compactions} summaries; the file holds ${found.messages} and ${found.compactions}`;
    session.skipped.push({ ...at, why });
  }
  return session;
}

function findText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
