/*
 * What was found, as text for a model: for each result a head between brackets, a line break and the content; a blank line
 * between them, and at the end a note of how many were left out. Neither a content nor a field of a head can forge another
 * one: a parser that knows only this format recovers exactly what was found. Text without look-alikes is as it was.
 */

/** One result: the fields of its head were made with `quoteField` and `quoteWord`. */
export function quoteResult(head: string, content: string): string {
  return `[${head}]\n${escapeHeads(content)}`;
}

/** Results one below the other, with a note of how many more there are. */
export function joinResults(results: readonly string[], left = 0): string {
  return [...results, ...(left > 0 ? [`(${left} more not shown; search more narrowly.)`] : [])].join("\n\n");
}

// What ends a field or a line, is not seen, or turns the direction of writing.
const RISKY = /^["\s]|\s$|^$|[[\]·\p{C}\p{Zl}\p{Zp}]/u;
const UNSEEN = /[·\p{C}\p{Zl}\p{Zp}]/gu;

/** A field of a head: itself where it can be nothing else, otherwise as JSON on one line. */
export function quoteField(text: string): string {
  if (!RISKY.test(text)) return text;
  return JSON.stringify(text).replace(UNSEEN, (found) => {
    const units = Array.from({ length: found.length }, (_, index) => found.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

/** Quotes a field behind which another one follows after a space. */
export function quoteWord(text: string): string {
  return /\s/.test(text) && !RISKY.test(text) ? JSON.stringify(text) : quoteField(text);
}

/** Puts a backslash before each line that looks like a head, or like a note, where one could stand: after a blank line. */
export function escapeHeads(text: string): string {
  return rewriteHeads(text, (slashes) => `\\${slashes}`);
}

export function unescapeHeads(text: string): string {
  return rewriteHeads(text, (slashes) => slashes.slice(1));
}

// Whatever a reader may take for the end of a line.
const BREAKS = "\\n\\r\\v\\f\\u001c-\\u001e\\u0085\\u2028\\u2029";
const START = new RegExp(`(?<=[${BREAKS}])([^\\S${BREAKS}]*)(\\\\*)(?=[[(])`, "g");
const BREAK = new RegExp(`[${BREAKS}]`, "g");
const CLOSING = new RegExp(`\\](?=[^\\S${BREAKS}]*(?:[${BREAKS}]|$))`, "g");
const NOTE = /^\((?:\d+ more not shown; search more narrowly\.|Page \d+ of \d+\.)\)$/;

function rewriteHeads(text: string, rewrite: (slashes: string) => string): string {
  // A head ends before the line feed at the latest; some readers end a line earlier.
  const lineFeed = finder(text, /\n/g);
  const closing = finder(text, CLOSING);
  const anyBreak = finder(text, BREAK);
  return text.replace(START, (found, space: string, slashes: string, start: number) => {
    if (!isAfterBlank(text, start)) return found;
    const from = start + found.length;
    const isHead = text[from] === "[" && closing(from) < lineFeed(from);
    return isHead || NOTE.test(text.slice(from, anyBreak(from)).trimEnd()) ? space + rewrite(slashes) : found;
  });
}

/** Gives where a pattern is found next, from ascending places on: the text is looked through once. */
function finder(text: string, pattern: RegExp): (from: number) => number {
  const own = new RegExp(pattern);
  let found = -1;
  return (from) => {
    if (found >= from) return found;
    own.lastIndex = from;
    found = own.exec(text)?.index ?? text.length;
    return found;
  };
}

// `start` is where a line begins.
function isAfterBlank(text: string, start: number): boolean {
  const end = text.endsWith("\r\n", start) ? start - 2 : start - 1;
  for (let index = end - 1; index >= 0; index -= 1) {
    const character = text[index] as string;
    BREAK.lastIndex = 0;
    if (BREAK.test(character)) return true;
    if (character.trim() !== "") return false;
  }
  return end === 0;
}
