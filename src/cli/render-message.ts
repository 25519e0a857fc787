import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import { isoTime, senderName } from "../model/text.js";
import { readToolPart } from "../model/tool-parts.js";
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
