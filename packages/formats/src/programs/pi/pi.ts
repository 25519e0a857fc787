import { isJsonObject, isoTime, type JsonObject, nameOf } from "@stemma/model";
import { nameSession } from "../../conversations.js";
import { findTime } from "../../found.js";
import { parseEntry, readLines } from "../../json-items.js";
import { UsageCount } from "../../session-builder.js";
import {
  costOf,
  type ImportFormat,
  type ParsedSession,
  type Position,
  type Skipped,
  tokensOf,
} from "../../stemma/session-file.js";
import { PiTree } from "./pi-tree.js";

/** Session files of the coding agent pi, with ids (a tree) and without (the first version: a line of entries). */
export const pi: ImportFormat = {
  name: "pi",
  about: "pi session files (JSONL): a session header, then an entry per line",
  recognises: (first) => isJsonObject(first) && first.type === "session" && typeof first.id === "string",
  async *read(items) {
    let tree: PiTree | null = null;
    let early: Skipped[] = [];
    const skip = (at: Position, why: string) => (tree?.skipped ?? early).push({ ...at, why });
    for await (const { line: entry, at } of readLines(items, parseEntry, skip)) {
      if (entry.type === "session" && typeof entry.id === "string") {
        if (tree !== null) yield closeSession(tree);
        tree = new PiTree(entry, early);
        early = [];
      } else if (tree === null) {
        skip(at, "it stands before the session's header");
      } else {
        tree.add(entry, at);
      }
    }
    if (tree !== null) yield closeSession(tree);
  },
};

function closeSession(tree: PiTree): ParsedSession {
  const { header, sessionId, messages, entries } = tree;
  const names = entries.flatMap(({ type, name }) =>
    type === "session_info" && typeof name === "string" ? [name] : [],
  );
  const replies = entries.filter(isReply);
  const model = replies.findLast(({ message }) => typeof message.model === "string")?.message.model ?? header.modelId;
  const { sum, rows } = countUsage(replies).told(true);
  return nameSession({
    id: sessionId,
    name: names.at(-1) ?? "",
    source: "pi",
    model: typeof model === "string" ? model : undefined,
    usage: sum,
    usageRows: rows,
    messages,
    compactions: tree.compactions,
    activeLeafId: tree.leafId ?? undefined,
    skipped: tree.skipped,
    unread: tree.unread,
  });
}

type Reply = JsonObject & { message: JsonObject };

function isReply(entry: JsonObject): entry is Reply {
  return isJsonObject(entry.message) && entry.message.role === "assistant";
}

function countUsage(replies: readonly Reply[]): UsageCount {
  const count = new UsageCount();
  for (const { timestamp, message } of replies) {
    const { usage, model } = message;
    if (!isJsonObject(usage)) continue;
    const inputTokens = tokensOf(usage.input) + tokensOf(usage.cacheRead) + tokensOf(usage.cacheWrite);
    const outputTokens = tokensOf(usage.output);
    const cost = isJsonObject(usage.cost) ? costOf(usage.cost.total) : 0;
    // An answer that pi ended before it began, or that no model gave.
    if (inputTokens === 0 && outputTokens === 0 && cost === 0) continue;
    count.add(
      dayOf(timestamp) ?? dayOf(message.timestamp),
      nameOf(model) ?? "",
      { inputTokens, outputTokens, cost },
      1,
    );
  }
  return count;
}

// Entries tell their time as text, messages in milliseconds.
function dayOf(timestamp: unknown): string | undefined {
  const time = typeof timestamp === "number" ? isoTime(timestamp) : findTime(timestamp);
  return time?.slice(0, 10);
}
