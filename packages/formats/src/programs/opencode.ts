import type { SessionMessagePart } from "@stemma/model";
import { isJsonObject, isoTime, type JsonObject, metadataOfFolder, nameOf } from "@stemma/model";
import { without } from "../origin.js";
import type { Place, SessionBuilder } from "../session-builder.js";
import { costOf, tokensOf } from "../stemma/session-file.js";
import { rawPart } from "../unread.js";
import { fileOf } from "./chat/model-content.js";
import { type ExportedEntry, exportFormat, messagesOf } from "./exported-tree.js";

/** Sessions as `opencode export` writes them. The messages stand in their order; those that a revert undid are behind the active leaf. */
export const opencode = exportFormat({
  name: "opencode",
  about: "what `opencode export` writes (JSON)",
  recognises: (first) => isJsonObject(first) && isJsonObject(first.info) && Array.isArray(first.messages),
  open(conversation) {
    const { messages } = conversation;
    const info = infoOf(conversation.info);
    if (!Array.isArray(messages)) return null;
    return {
      id: nameOf(info.id),
      title: info.title,
      parentSessionId: nameOf(info.parentID),
      metadata: metadataOfFolder(info.directory),
      rest: without(conversation, "messages"),
      messages: messagesOf<unknown>(messages, (source, index) => {
        return { id: infoOf(infoOf(source).info).id, parent: undefined, source, path: `.messages[${index}]` };
      }),
      leaf: (ids) => {
        const undone = ids.indexOf(String(infoOf(info.revert).messageID));
        return undone === -1 ? ids.at(-1) : ids[undone - 1];
      },
    };
  },
  noMessage: "not a message: its info has no id",
  add: addMessage,
});

/** Parts that say something beside the conversation. */
const BESIDE = ["step-finish", "snapshot", "patch", "agent", "retry", "compaction"];

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
  builder.model = model ?? builder.model;
  countUsage(builder, info, createdAt);
  const summary = info.summary === true ? textOf(parts) : "";
  const beside = given.filter((part) => isJsonObject(part) && BESIDE.includes(String(part.type)));
  const keep = (place: Place): Place => {
    builder.keep(id, { ...source, parts: beside }, at, place.id);
    return place;
  };
  if (summary !== "" && above.root !== null) return keep(builder.summarise(id, above, at, { id, summary, createdAt }));
  // What only asks for a summary, and an answer that failed before it began.
  if (parts.length === 0) return keep(above);
  const role = info.role === "user" || info.role === "system" ? info.role : "assistant";
  return keep(builder.addMessage({ id, role, parts, createdAt, model }, above, at, length));
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
  if (!isJsonObject(part)) return rawPart(part);
  const { type, text, prompt, callID, tool, state } = part;
  if (BESIDE.includes(String(type))) return null;
  if (type === "step-start") return { type };
  if ((type === "text" || type === "reasoning") && typeof text === "string")
    return part.ignored === true ? null : { type, text };
  if (type === "subtask" && typeof prompt === "string") return { type: "text", text: prompt };
  if (type === "file") return fileOf({ ...part, mediaType: part.mime }) ?? rawPart(part);
  if (type !== "tool" || typeof tool !== "string" || !isJsonObject(state)) return rawPart(part);
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
