import { parseQuery } from "../model/query.js";

/** A piece of `text` of at most `length` characters around the first word of the query that occurs in it. */
export function snippet(text: string, query: string, length: number): string {
  if (text.length <= length) return text;
  const start = Math.max(0, Math.min(firstMatch(text, query) - Math.floor(length / 4), text.length - length));
  const end = Math.min(text.length, start + length);
  return `${start > 0 ? "…" : ""}${cut(text, start, end)}${end < text.length ? "…" : ""}`;
}

/** The first `length` characters of a text, with an ellipsis when there are more. */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : `${cut(text, 0, length)}…`;
}

/** `text.slice` with its ends moved so that no character is cut in two: what one piece leaves, the next one has. */
export function cut(text: string, start: number, end: number): string {
  return text.slice(boundary(text, start), boundary(text, end));
}

function boundary(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}

/** A word is also found by its beginning, as its forms differ at the end. */
const STEM_LENGTH = 4;

function firstMatch(text: string, query: string): number {
  const { words, runs, phrases } = parseQuery(query);
  const folded = text.toLowerCase();
  const whole = [...phrases.map((phrase) => phrase.join(" ")), ...runs, ...words];
  for (const term of [...whole, ...words.map((word) => word.slice(0, STEM_LENGTH))]) {
    const index = folded.indexOf(term.toLowerCase());
    if (index >= 0) return index;
  }
  return 0;
}
