import { isJsonObject, type JsonObject } from "../model/json-object.js";
import { nameSession } from "./conversations.js";
import { PiTree } from "./pi-tree.js";
import { parseEntry, readLines } from "./read-lines.js";
import {
  costOf,
  type ImportFormat,
  type ParsedSession,
  type Position,
  type Skipped,
  tokensOf,
  type Usage,
} from "./session-file.js";

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
  const replies = entries.flatMap(({ message }) =>
    isJsonObject(message) && message.role === "assistant" ? [message] : [],
  );
  const model = replies.findLast(({ model: used }) => typeof used === "string")?.model ?? header.modelId;
  return nameSession({
    id: sessionId,
    name: names.at(-1) ?? "",
    source: "pi",
    model: typeof model === "string" ? model : undefined,
    usage: sumUsage(replies),
    messages,
    compactions: tree.compactions,
    activeLeafId: tree.leafId ?? undefined,
    skipped: tree.skipped,
  });
}

function sumUsage(replies: readonly JsonObject[]): Usage {
  const total: Usage = { inputTokens: 0, outputTokens: 0, cost: 0 };
  for (const { usage } of replies) {
    if (!isJsonObject(usage)) continue;
    total.inputTokens += tokensOf(usage.input) + tokensOf(usage.cacheRead) + tokensOf(usage.cacheWrite);
    total.outputTokens += tokensOf(usage.output);
    if (isJsonObject(usage.cost)) total.cost += costOf(usage.cost.total);
  }
  return total;
}
