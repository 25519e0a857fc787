import { findJson, isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import { type Conversation, findFirstMessage, nameSession, openSession, readSessions } from "./conversations.js";
import { deriveId } from "./identity.js";
import { outputOfText, partsOfContent } from "./openai-content.js";
import { rebuildMessage, rebuildResult } from "./openai-export.js";
import { keep, type OriginEntry, without } from "./origin.js";
import type { FileInfo, ImportFormat, ParsedSession } from "./session-file.js";

/** Chat messages as OpenAI's completions take them. A tool's result goes into the assistant message that called it. */
export const openai: ImportFormat = {
  name: "openai",
  about:
    "OpenAI chat messages (JSON or JSONL): a list, { messages: […] }, a list of runs with messages, traj or conversation",
  recognises: (first) => {
    const message = findFirstMessage(first);
    return message !== null && !("parts" in message);
  },
  alsoReads: (first) => "content" in (findFirstMessage(first) ?? {}),
  read: (items, file) => readSessions(items, file, readSession),
};

/** A message whose calls wait for their results. */
interface Caller {
  message: SessionMessage;
  entries: OriginEntry[];
  /** Indexes of the parts without a result. */
  waiting: number[];
}

/** OpenAI's roles as the AI SDK's message conversion knows them. */
const ROLES: Record<string, string> = { system: "system", developer: "system", user: "user", assistant: "assistant" };

function readSession(conversation: Conversation, file: FileInfo, number: number): ParsedSession {
  const session = openSession(conversation, file, number, "openai");
  const callers: Caller[] = [];
  const seen = new Set<string>();
  let parentId: string | null = null;
  for (const [n, { value, at }] of conversation.messages.entries()) {
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
  const parts: SessionMessagePart[] = partsOfContent(source.content);
  const holdsContent = parts.length > 0;
  if (!holdsContent && typeof source.refusal === "string" && source.refusal !== "") {
    parts.push({ type: "text", text: source.refusal });
  }
  for (const call of callsOf(source)) parts.push(partOfCall(call));
  const inParts = [...(holdsContent ? ["content"] : []), ...(Array.isArray(source.tool_calls) ? ["tool_calls"] : [])];
  entries.push({ n, ...keep(source, without(source, ...inParts), (rest) => rebuildMessage(rest, parts)) });
  return { id, role, parts };
}

function callsOf(source: JsonObject): JsonObject[] {
  if (Array.isArray(source.tool_calls)) return source.tool_calls.filter(isJsonObject);
  // The form that came before tool_calls.
  return isJsonObject(source.function_call) ? [{ function: source.function_call }] : [];
}

function partOfCall(call: JsonObject): SessionMessagePart {
  const called = isJsonObject(call.function) ? call.function : isJsonObject(call.custom) ? call.custom : {};
  const toolName = String(called.name ?? "unknown");
  const text = String(called.arguments ?? called.input ?? "");
  return {
    type: "dynamic-tool",
    toolName,
    toolCallId: typeof call.id === "string" ? call.id : functionId(toolName),
    state: "input-available",
    input: findJson(text) ?? text,
  };
}

function functionId(name: string): string {
  return `function:${name}`;
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
