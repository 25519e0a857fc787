import { StemmaError } from "../errors.js";
import type { SessionMessage } from "./message.js";

/** The text that a search looks at and shows: the message's text parts, one below the other. Never tool payloads, reasoning or files. */
export function searchableText(message: SessionMessage): string {
  let text = "";
  for (const part of message.parts) {
    if (part.type !== "text" || typeof part.text !== "string" || part.text === "") continue;
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

/** Throws `INVALID_TEXT` for what no database column keeps: NUL and halves of surrogate pairs. */
export function assertStorableText(text: string, what: string): void {
  if (text.includes("\0") || !text.isWellFormed()) {
    throw new StemmaError("INVALID_TEXT", { what }, `${what} holds NUL or half a surrogate pair; remove it (text.toWellFormed() mends the latter).`);
  }
}
