import { cut } from "../model/cut.js";
import { CHARS_PER_TOKEN, estimateStringTokens } from "../model/tokens.js";

/** What of a budget the list or the text of an answer may take: the rest is for what stands around it. */
const SHARE = 0.85;

/** Estimated tokens of a value as JSON. */
export function jsonTokens(value: unknown): number {
  return estimateStringTokens(JSON.stringify(value));
}

/** The estimated tokens that the list or the text of an answer may have. */
export function roomOf(maxTokens: number): number {
  return Math.floor(maxTokens * SHARE);
}

/** The first items that fit into `tokens` as JSON, and at least one of them. */
export function fitting<T>(items: readonly T[], tokens: number): T[] {
  let room = tokens;
  const first = items.findIndex((item, index) => {
    room -= jsonTokens(item);
    return room < 0 && index > 0;
  });
  return items.slice(0, first < 0 ? items.length : first);
}

/** The piece of a text from `start` on that fits into `tokens` as JSON. It holds at least one character where there is one. */
export function pieceOf(text: string, start: number, tokens: number): string {
  let length = tokens * CHARS_PER_TOKEN;
  for (;;) {
    const piece = cut(text, start, Math.min(text.length, start + length));
    const excess = jsonTokens(piece) / tokens;
    if (excess <= 1 || length <= 2) return piece;
    length = Math.max(2, Math.floor(length / Math.max(excess, 1.1)));
  }
}

/** A text that fits into `tokens` as JSON, with a note where its end is left out. */
export function shortened(text: string, tokens: number): string {
  const piece = pieceOf(text, 0, tokens);
  return piece.length === text.length
    ? text
    : `${piece}… (${(text.length - piece.length).toLocaleString("en")} more characters)`;
}
