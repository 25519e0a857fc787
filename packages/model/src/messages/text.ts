import { StemmaError } from "../errors.js";
import type { SessionMessage } from "./message.js";
import { estimateStringTokens } from "./tokens.js";

/** The text of a message: its text parts, one below the other. Never tool payloads, reasoning or files. */
export function searchableText(message: SessionMessage): string {
  let text = "";
  for (const part of message.parts) {
    // Rows that another program wrote may hold anything.
    if (part?.type !== "text" || typeof part.text !== "string" || part.text === "") continue;
    text = text === "" ? part.text : `${text}\n${part.text}`;
  }
  return text;
}

/** The sender's name, when the host put one into `metadata.name`; "" otherwise. */
export function senderName(message: SessionMessage): string {
  const { metadata } = message;
  if (typeof metadata !== "object" || metadata === null) return "";
  const { name } = metadata as { name?: unknown };
  return typeof name === "string" ? name : "";
}

/** `text` at the end of `before`, on a new line: a line break comes between them unless `text` starts with one or either is empty. */
export function appendText(before: string, text: string): string {
  const joins = before === "" || text === "" || /^[\r\n]/.test(text);
  return joins ? before + text : `${before}\n${text}`;
}

/** The text that is embedded of a message: its sender's name, or its role without one, then the text. "" for a message without text. */
export function embeddedText(message: SessionMessage): string {
  const text = searchableText(message);
  return text === "" ? "" : `${senderName(message) || message.role}: ${text}`;
}

/** A message's own time as ISO text in UTC; null when it has none. */
export function isoTime(createdAt: SessionMessage["createdAt"]): string | null {
  if (createdAt === undefined || createdAt === null) return null;
  const time = new Date(createdAt);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

const MONTHS = "January February March April May June July August September October November December".split(" ");

/** The date of an ISO time, as people write it and as machines do. */
export function dateWords(iso: string): string {
  const [year, month, day] = iso.slice(0, 10).split("-");
  return `${Number(day)} ${MONTHS[Number(month) - 1] ?? ""} ${year} ${iso.slice(0, 10)}`;
}

/** `text.slice` with its ends moved so that no character is cut in two: what one piece leaves, the next one has. */
export function cut(text: string, start: number, end: number): string {
  return text.slice(boundary(text, start), boundary(text, end));
}

/** The index, or the one before it in the middle of a surrogate pair. */
export function boundary(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}

/** Two labels name the same block when their folded forms are equal. It is also how the prompt shows a label. */
export function foldLabel(label: string): string {
  // Not every host is compiled against our types; what is no text is no block's label.
  return String(label).toUpperCase();
}

/** Throws `BLOCK_OVER_BUDGET` for a content of more estimated tokens than the block holds. */
export function assertBudget(label: string, content: string, maxTokens: number): void {
  const tokens = estimateStringTokens(content);
  if (tokens > maxTokens) throw overBudget(label, tokens, maxTokens);
}

/** The error for a content of so many estimated tokens, where at most `maxTokens` may be. */
export function overBudget(label: string, tokens: number, maxTokens: number): StemmaError {
  const message = `That would make ${tokens} tokens in "${label}", which holds ${maxTokens}. Nothing was changed; write less, or replace the content with a shorter one.`;
  return new StemmaError("BLOCK_OVER_BUDGET", { label, tokens, maxTokens }, message);
}
