import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, isoTime, isTooDeep, type JsonObject, metadataOfFolder, nameOf } from "@stemma/model";
import { type ExportedEntry, piecesOfTree, readExport } from "../export/exported-tree.js";
import { without } from "../origin.js";
import { type Place, SessionBuilder } from "../session-builder.js";
import {
  costOf,
  type ImportFormat,
  type ParsedSession,
  type Position,
  TOO_DEEP,
  tokensOf,
} from "../stemma/session-file.js";
import { keptPart } from "../unread.js";
import { fileOf } from "./chat/model-content.js";

/** Sessions as `opencode export` writes them. The messages stand in their order; those that a revert undid are behind the active leaf. */
export const opencode: ImportFormat = {
  name: "opencode",
  about: "what `opencode export` writes (JSON)",
  recognises: (first) => isJsonObject(first) && isJsonObject(first.info) && Array.isArray(first.messages),
  read: (items, file) => readExport(items, file, "opencode", readConversation),
};

/** Parts that say something beside the conversation. */
const BESIDE = ["step-finish", "snapshot", "patch", "agent", "retry", "compaction"];

function readConversation(conversation: JsonObject, at: Position): Iterable<ParsedSession> | null {
  const { info, messages } = conversation;
  const id = isJsonObject(info) ? nameOf(info.id) : undefined;
  if (id === undefined || !isJsonObject(info) || !Array.isArray(messages)) return null;
  const builder = new SessionBuilder({ id, source: "opencode", parentSessionId: nameOf(info.parentID) });
  builder.names.give(info.title);
  builder.describe(metadataOfFolder(info.directory));
  const source = without(conversation, "messages");
  builder.keep({ key: "conversation", source, at, messageId: null, kind: null });
  const entries = entriesOf(messages, builder, at);
  const undone = isJsonObject(info.revert)
    ? entries.findIndex((entry) => entry.id === infoOf(info.revert).messageID)
    : -1;
  const leaf = undone === -1 ? entries.at(-1) : entries[undone - 1];
  return piecesOfTree(builder, entries, leaf?.id, (entry, above, length) => addMessage(builder, entry, above, length));
}

function entriesOf(messages: readonly unknown[], builder: SessionBuilder, at: Position): ExportedEntry[] {
  const entries: ExportedEntry[] = [];
  for (const [index, message] of messages.entries()) {
    const place = { ...at, path: `${at.path ?? "$"}.messages[${index}]` };
    const id = isJsonObject(message) ? infoOf(message.info).id : undefined;
    if (isTooDeep(message)) builder.skip(place, TOO_DEEP);
    else if (!isJsonObject(message) || typeof id !== "string") builder.skip(place, "not a message: its info has no id");
    else entries.push({ id, parentId: entries.at(-1)?.id ?? null, source: message, at: place });
  }
  return entries;
}

function infoOf(info: unknown): JsonObject {
  return isJsonObject(info) ? info : {};
}

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const info = infoOf(source.info);
  const time = infoOf(info.time).created;
  const createdAt = (typeof time === "number" ? isoTime(time) : null) ?? undefined;
  const given: unknown[] = Array.isArray(source.parts) ? source.parts : [source.parts];
  const parts = given.flatMap((part) => partOf(part) ?? []);
  const model = nameOf(info.modelID);
  if (model !== undefined) builder.model = model;
  countUsage(builder, info, createdAt);
  const summary = info.summary === true ? textOf(parts) : "";
  const beside = given.filter((part) => isJsonObject(part) && BESIDE.includes(String(part.type)));
  const keep = (place: Place): Place => {
    builder.keep({ key: id, source: { ...source, parts: beside }, at, messageId: place.id, kind: null });
    return place;
  };
  if (summary !== "" && above.root !== null) return keep(builder.summarise(id, above, at, { id, summary, createdAt }));
  // What only asks for a summary, and an answer that failed before it began.
  if (parts.length === 0) return keep(above);
  const message: SessionMessage = {
    id,
    role: info.role === "user" || info.role === "system" ? info.role : "assistant",
    parts,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(model === undefined ? {} : { metadata: { model } }),
  };
  return keep(builder.addMessage(message, above, at, length));
}

function countUsage(builder: SessionBuilder, { tokens, cost, modelID }: JsonObject, time: string | undefined): void {
  if (!isJsonObject(tokens)) return;
  const cache = infoOf(tokens.cache);
  const used = {
    inputTokens: tokensOf(tokens.input) + tokensOf(cache.read) + tokensOf(cache.write),
    outputTokens: tokensOf(tokens.output) + tokensOf(tokens.reasoning),
    cost: costOf(cost),
  };
  builder.usage.add(time?.slice(0, 10), nameOf(modelID) ?? "", used, 1);
}

/** A part of ours for one of OpenCode's; null for what stands beside the conversation. */
function partOf(part: unknown): SessionMessagePart | null {
  if (!isJsonObject(part)) return keptPart(part);
  const { type, text, prompt, callID, tool, state } = part;
  if (BESIDE.includes(String(type))) return null;
  if (type === "step-start") return { type };
  if ((type === "text" || type === "reasoning") && typeof text === "string")
    return part.ignored === true ? null : { type, text };
  if (type === "subtask" && typeof prompt === "string") return { type: "text", text: prompt };
  if (type === "file") return fileOf({ ...part, mediaType: part.mime }) ?? keptPart(part);
  if (type !== "tool" || typeof tool !== "string" || !isJsonObject(state)) return keptPart(part);
  const call = {
    type: "dynamic-tool",
    toolName: tool,
    toolCallId: typeof callID === "string" ? callID : String(part.id ?? tool),
    state: "input-available",
    input: state.input ?? {},
  };
  if (state.status === "completed") return { ...call, state: "output-available", output: state.output ?? null };
  return state.status === "error" ? { ...call, state: "output-error", errorText: String(state.error) } : call;
}

function textOf(parts: readonly SessionMessagePart[]): string {
  return parts.flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : [])).join("\n");
}
