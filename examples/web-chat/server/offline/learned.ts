const NAME = "[\\p{L}\\p{M}'’-]+(?:\\s\\p{Lu}[\\p{L}\\p{M}'’-]*)?";
const REST = "(?<rest>[^.!?\\n]+)";

/** Sentences that say something lasting of their writer, and how it is noted. */
const PATTERNS: readonly (readonly [RegExp, (rest: string) => string])[] = [
  [/\bremember\s+(?:that\s+)?(?<rest>[^\n]+?)[.!]*$/iu, (rest) => capital(rest)],
  [new RegExp(`\\b(?:my name is|i am called|i'm called|call me)\\s+(?<rest>${NAME})`, "iu"), (rest) => `Name: ${rest}`],
  [new RegExp(`\\bi (?:live|moved|have moved|now live) (?:in|to|near)\\s+${REST}`, "iu"), (rest) => `Lives in ${rest}`],
  [new RegExp(`\\bi work\\s+${REST}`, "iu"), (rest) => `Works ${rest}`],
  [new RegExp(`\\bi(?:'m| am|’m) allergic to\\s+${REST}`, "iu"), (rest) => `Allergic to ${rest}`],
  [new RegExp(`\\bi (?:really )?(?:like|love|enjoy|prefer|drink)\\s+${REST}`, "iu"), (rest) => `Likes ${rest}`],
  [new RegExp(`\\bi have (?=an? |two |three |\\d)${REST}`, "iu"), (rest) => `Has ${rest}`],
];

/** What a message says of the user that is worth noting. A question says nothing. */
export function learnedFrom(text: string): string[] {
  const found = new Set<string>();
  for (const sentence of text.split(/(?<=[.!?\n])\s+|,? and (?=(?:i|my)\b)/iu)) {
    if (isQuestion(sentence)) continue;
    for (const [pattern, note] of PATTERNS) {
      const rest = pattern.exec(sentence)?.groups?.rest?.trim();
      if (rest) found.add(note(rest));
      if (rest) break;
    }
  }
  return [...found];
}

export function isQuestion(text: string): boolean {
  return /\?\s*$/u.test(text);
}

/** What a message asks to forget; null when it does not. */
export function unwantedIn(text: string): string | null {
  return FORGET.exec(text)?.groups?.what ?? null;
}

const FORGET = /^\s*(?:please\s+)?forget\s+(?:that\s+|about\s+)?(?<what>.+?)[.!]*$/iu;

/** The lines that have a word of a text. */
export function matching(lines: readonly string[], text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const telling = words.filter((word) => !COMMON.has(word)).map((word) => word.slice(0, Math.max(3, word.length - 2)));
  return lines.filter((line) => telling.some((word) => line.toLowerCase().includes(word)));
}

const COMMON = new Set(
  "what where when who how does did you your about know remember the and that this with for from have has are was were mine myself".split(
    " ",
  ),
);

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
