import type { Pieces, SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject } from "@stemma/model";
import { type Conversation, firstMessages, nameSession, openSession, readSessions } from "../../conversations.js";
import { deriveId } from "../../identity.js";
import { keep, type OriginEntry, without } from "../../origin.js";
import type { FileInfo, ImportFormat, ParsedSession } from "../../stemma/session-file.js";
import { rawPart } from "../../unread.js";
import { dialectOf, findDialect, isPlain } from "../chat/chat-dialect.js";
import { readChat } from "../chat/chat-messages.js";
import { readGeminiContents } from "../gemini/gemini.js";
import { readUiMessages } from "../ui-messages.js";
import { callsOf, functionId, outputOfText, partsOfContent, reasoningOf } from "./openai-content.js";
import { rebuildMessage, rebuildResult } from "./openai-export.js";

/**
 * Messages of OpenAI's two interfaces, and all that look alike: what a list is written in is found by its content. A tool's
 * result goes into the assistant message that called it.
 */
export const openai: ImportFormat = {
  name: "openai",
  about:
    "OpenAI chat messages or Responses items (JSON or JSONL): a list, { messages: […] }, { input, output }, a list of runs",
  recognises: (first) => {
    const messages = firstMessages(first);
    return isPlain(messages) || ["completions", "responses", "gemini"].includes(String(dialectOf(messages)));
  },
  read: (items, file) => readSessions(items, file, readAs("openai")),
};

/** Messages of Anthropic's interface. */
export const anthropic: ImportFormat = {
  name: "anthropic",
  about: "Anthropic messages (JSON or JSONL): a list, or requests with system and messages",
  recognises: (first) => dialectOf(firstMessages(first)) === "anthropic",
  alsoReads: (first) => isPlain(firstMessages(first)),
  read: (items, file) => readSessions(items, file, readAs("anthropic")),
};

/** The AI SDK's messages for a model. */
export const modelMessages: ImportFormat = {
  name: "model-messages",
  about: "AI SDK ModelMessages (JSON or JSONL), of version 4 to 6",
  recognises: (first) => dialectOf(firstMessages(first)) === "model-messages",
  alsoReads: (first) => isPlain(firstMessages(first)),
  read: (items, file) => readSessions(items, file, readAs("model-messages")),
};

/** Transcripts of Cursor's agent. */
export const cursor: ImportFormat = {
  name: "cursor",
  about: "Cursor agent transcripts (JSONL): { role, message: { content } }",
  recognises: (first) => dialectOf(firstMessages(first)) === "cursor",
  read: (items, file) => readSessions(items, file, readAs("cursor")),
};

/** Reads a conversation in the dialect that it is written in; `otherwise` names the source of one that has nothing of its own. */
function readAs(
  otherwise: string,
): (conversation: Conversation, file: FileInfo, number: number) => Pieces<ParsedSession> {
  return function* (conversation, file, number) {
    const messages = conversation.messages.map(({ value }) => value);
    const dialect = yield* findDialect(messages);
    if (dialect === "ui-messages") return yield* readUiMessages(conversation, file, number);
    if (dialect === "gemini") return yield* readGeminiContents(conversation, file, number);
    const isCompletions =
      dialect === null && otherwise === "openai" && messages.every((message) => "content" in message);
    if (dialect === "completions" || isCompletions) return yield* readCompletions(conversation, file, number);
    return yield* readChat(conversation, file, number, dialect === "responses" ? "openai" : (dialect ?? otherwise));
  };
}

/** A message whose calls wait for their results. */
interface Caller {
  message: SessionMessage;
  entries: OriginEntry[];
  /** Indexes of the parts without a result. */
  waiting: number[];
}

/** OpenAI's roles as the AI SDK's message conversion knows them. */
const ROLES: Record<string, string> = { system: "system", developer: "system", user: "user", assistant: "assistant" };

function* readCompletions(conversation: Conversation, file: FileInfo, number: number): Pieces<ParsedSession> {
  const session = openSession(conversation, file, number, "openai");
  const callers: Caller[] = [];
  const seen = new Set<string>();
  let parentId: string | null = null;
  for (const [n, { value, at }] of conversation.messages.entries()) {
    yield;
    const isResult = value.role === "tool" || value.role === "function";
    if (isResult && answer(callers, value, n)) continue;
    const own = typeof value.id === "string" && value.id !== "" && !seen.has(value.id) ? value.id : null;
    const id: string = own ?? deriveId(session.id, parentId, value);
    seen.add(id);
    const entries: OriginEntry[] = [];
    const message = readMessage(id, value, n, entries);
    const record =
      n === 0 && conversation.record !== null ? { record: conversation.record, key: conversation.key } : {};
    message.metadata = {
      ...(typeof value.name === "string" ? { name: value.name } : {}),
      openai: { ...record, entries },
    };
    const waiting = message.parts.flatMap((part, index) => (part.type === "dynamic-tool" ? [index] : []));
    if (waiting.length > 0) callers.push({ message, entries, waiting });
    session.messages.push({ message, parentId, at });
    parentId = id;
  }
  return nameSession(session);
}

function readMessage(id: string, source: JsonObject, n: number, entries: OriginEntry[]): SessionMessage {
  const role = ROLES[String(source.role)];
  if (role === undefined) {
    // A result without a call, or a role of its own: kept, but not as something that a model is told.
    entries.push({ n, whole: source });
    return { id, role: "assistant", parts: [{ type: "data-openai", data: source } as SessionMessagePart] };
  }
  const isEmpty = ["content", "tool_calls", "function_call", "refusal", "text", "audio"].every(
    (field) => source[field] === undefined,
  );
  const parts: SessionMessagePart[] = isEmpty ? [rawPart(source)] : partsOfContent(source.content ?? source.text);
  const holdsContent = parts.length > 0;
  if (!holdsContent && typeof source.refusal === "string" && source.refusal !== "") {
    parts.push({ type: "text", text: source.refusal });
  }
  const { audio } = source;
  if (!holdsContent && isJsonObject(audio)) {
    parts.push(typeof audio.transcript === "string" ? { type: "text", text: audio.transcript } : rawPart({ audio }));
  }
  parts.unshift(...reasoningOf(source));
  parts.push(...callsOf(source));
  const inParts = [...(holdsContent ? ["content"] : []), ...(Array.isArray(source.tool_calls) ? ["tool_calls"] : [])];
  entries.push({ n, ...keep(source, without(source, ...inParts), (rest) => rebuildMessage(rest, parts)) });
  return { id, role, parts };
}

// Ids of calls come again within one conversation: a result belongs to the latest message that waits for one with its id.
function answer(callers: Caller[], source: JsonObject, n: number): boolean {
  const id = source.role === "function" ? functionId(String(source.name)) : source.tool_call_id;
  const caller = callers.findLast(({ message, waiting }) =>
    waiting.some((index) => message.parts[index]?.toolCallId === id),
  );
  const index = caller?.waiting.find((waiting) => caller.message.parts[waiting]?.toolCallId === id);
  const part = index === undefined ? undefined : caller?.message.parts[index];
  if (caller === undefined || index === undefined || part === undefined) return false;
  caller.waiting = caller.waiting.filter((waiting) => waiting !== index);
  if (caller.waiting.length === 0) callers.splice(callers.indexOf(caller), 1);
  const output = Array.isArray(source.content) ? source.content : outputOfText(source.content);
  Object.assign(part, { state: "output-available", output: output ?? null });
  const rest = without(source, "content");
  caller.entries.push({ n, part: index, ...keep(source, rest, (kept) => rebuildResult(kept, part)) });
  return true;
}
