import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { excerpt, isoTime, parseQuery, readToolPart, StemmaError, senderName, type ToolPart } from "@stemma/model";
import type { SessionStore } from "@stemma/store";
import type { Style } from "./text.js";
import { localTime, oneLine, printable } from "./text.js";

/** Characters shown of a tool's input or output; an export has the rest. */
const MAX_TOOL_CHARS = 300;

/** A message as a terminal shows it: who and when, then its parts. */
export function renderMessage(message: SessionMessage, isSummary: boolean): string {
  const time = isoTime(message.createdAt);
  const name = senderName(message);
  const who = isSummary ? "summary" : name === "" ? message.role : `${message.role} (${name})`;
  const head = [who, ...(time === null ? [] : [localTime(time)]), message.id]
    .map((piece) => oneLine(piece, 200))
    .join(" · ");
  const body = message.parts.map(renderPart).filter((text) => text !== "");
  return `── ${head}\n${body.map((text) => `${text}\n`).join("")}`;
}

function renderPart(part: SessionMessagePart): string {
  const text = printable(part.text ?? "").trimEnd();
  if (part.type === "text") return text;
  if (part.type === "reasoning") return text === "" ? "" : `(${text})`;
  if (part.type === "step-start") return "";
  const tool = readToolPart(part);
  if (tool === null) return part.type === "file" ? renderFile(part) : `[${part.type}]`;
  const call = `→ ${tool.toolName ?? "tool"} ${shorten(tool.input ?? {})}`;
  if (tool.kind === "call") return `${call}\n← (no result)`;
  return `${call}\n← ${tool.errorText === null ? shorten(tool.output) : `error: ${shorten(tool.errorText)}`}`;
}

function renderFile({ mediaType, url }: SessionMessagePart): string {
  const where = typeof url === "string" && !url.startsWith("data:") ? ` ${url}` : "";
  return oneLine(`[${mediaType ?? "file"}${where}]`, 200);
}

function shorten(value: unknown): string {
  return oneLine(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), MAX_TOOL_CHARS);
}

/** A tool call and what came of it, in at most `length` characters: `· set_context {"label":"memory"} → Replaced memory`. */
export function describeTool({ toolName, input, output, errorText, kind }: ToolPart, length: number): string {
  const call = kind === "result" ? "" : `· ${toolName ?? "tool"} ${asText(input ?? {})}`;
  if (kind === "call") return oneLine(call, length - 1);
  const result = `→ ${errorText === null ? asText(output) : `error: ${errorText}`}`;
  // Each has half of the room, and what the other does not need.
  const half = (length - 1) >> 1;
  const shownResult = oneLine(result, Math.max(half, length - 1 - oneLine(call, length).length) - 1);
  const shownCall = oneLine(call, length - 2 - shownResult.length);
  return [shownCall, shownResult].filter((text) => text !== "").join(" ");
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Columns of a tree that stand before what a message says, where nothing is moved in. */
const BEFORE = 24;
const MIN_LENGTH = 40;

/** Describes the calls of tools of each message, a line for each call that fits a tree of `width` columns. Messages without calls are missing. */
export async function toolLines(session: SessionStore, width: number): Promise<Map<string, string[]>> {
  const lines = new Map<string, string[]>();
  try {
    for await (const { message } of session.messages()) {
      const calls = message.parts.flatMap((part) => {
        const tool = readToolPart(part);
        return tool === null ? [] : [describeTool(tool, Math.max(MIN_LENGTH, width - BEFORE))];
      });
      if (calls.length > 0) lines.set(message.id, calls);
    }
  } catch (error) {
    // The tree shows which message cannot be read.
    if (!StemmaError.isInstance(error, "CORRUPT_MESSAGE")) throw error;
  }
  return lines;
}

const LENGTH = 240;

/** Marks around a word that matches, until it is drawn: no text that went through `printable` holds them. */
const MARKS = ["\u0001", "\u0002"] as const;
const MARKED = new RegExp(`${MARKS[0]}(.*?)${MARKS[1]}`, "gsu");

interface Hit {
  readonly sessionId: string;
  readonly id: string;
  readonly role: string;
  readonly createdAt?: string | undefined;
  readonly content: string;
}

/** A found message as a terminal shows it: who, when and where, then a piece of it in which the words that match are set off. */
export function renderHit({ sessionId, id, role, createdAt, content }: Hit, query: string, style: Style): string {
  const time = createdAt === undefined ? [] : [localTime(createdAt)];
  const head = [role, ...time, `session ${sessionId}`, `message ${id}`].map((piece) => oneLine(piece, 200)).join(" · ");
  const text = printable(content).replace(/\s+/gu, " ").trim();
  const found = excerpt(text, parseQuery(query), LENGTH, MARKS).replace(MARKED, (_, word: string) => style.match(word));
  return `${style.dim(`── ${head}`)}\n${found}`;
}
