import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import { keep, type OriginEntry, without } from "./origin.js";
import { contentOfParts, partsOfContent } from "./pi-content.js";

/** A pi entry read as a message; null when it is none (a change of model, a label, …). */
export function readEntry(entry: JsonObject): Pick<SessionMessage, "role" | "parts" | "createdAt"> | null {
  const read = readParts(entry);
  if (read === null) return null;
  const time = isJsonObject(entry.message) ? entry.message.timestamp : undefined;
  const date = new Date((typeof time === "number" ? time : entry.timestamp) as number | string);
  return Number.isNaN(date.getTime()) ? read : { ...read, createdAt: date.toISOString() };
}

/** What to keep of an entry that became a message with these parts. */
export function keepEntry(n: number, entry: JsonObject, parts: readonly SessionMessagePart[]): OriginEntry {
  if (!isJsonObject(entry.message)) return { n, whole: entry };
  const rest = { ...entry, message: without(entry.message, "content") };
  return { n, ...keep(entry, rest, (kept) => rebuildEntry(kept, contentOfParts(parts))) };
}

/** An entry from what was kept of it and the content that the message's parts hold. */
export function rebuildEntry(rest: JsonObject, content: unknown): JsonObject {
  return { ...rest, message: { ...(isJsonObject(rest.message) ? rest.message : {}), content } };
}

/** True for an entry with the result of a tool call. */
export function isToolResult(entry: JsonObject): entry is JsonObject & { message: JsonObject } {
  return entry.type === "message" && isJsonObject(entry.message) && entry.message.role === "toolResult";
}

// What a user or an extension put into the conversation reaches pi's model as a user's message, and so it does here.
function readParts(entry: JsonObject): { role: string; parts: SessionMessagePart[] } | null {
  if (entry.type === "custom_message") return { role: "user", parts: partsOfContent(entry.content) };
  if (entry.type === "branch_summary") return summaryOf(entry);
  const { message } = entry;
  if (entry.type !== "message" || !isJsonObject(message)) return null;
  switch (message.role) {
    case "user":
    case "assistant":
      return { role: message.role, parts: partsOfContent(message.content) };
    case "toolResult":
      // One whose call is not there. Kept, but not as something that a model is told.
      return { role: "assistant", parts: [hidden(message)] };
    case "bashExecution":
      return { role: "user", parts: [message.excludeFromContext === true ? hidden(message) : commandText(message)] };
    default:
      return message.content === undefined
        ? (summaryOf(message) ?? { role: "user", parts: [hidden(message)] })
        : { role: "user", parts: partsOfContent(message.content) };
  }
}

function summaryOf({ summary }: JsonObject): { role: string; parts: SessionMessagePart[] } | null {
  return typeof summary === "string" ? { role: "user", parts: partsOfContent(summary) } : null;
}

function hidden(data: JsonObject): SessionMessagePart {
  return { type: "data-pi", data } as SessionMessagePart;
}

function commandText({ command, output, exitCode, cancelled }: JsonObject): SessionMessagePart {
  const end =
    cancelled === true ? "\n(cancelled)" : exitCode === 0 || exitCode === undefined ? "" : `\n(exit code ${exitCode})`;
  return { type: "text", text: `$ ${String(command)}\n${String(output ?? "")}${end}` };
}
