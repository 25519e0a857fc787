const NAME = "[\\p{L}\\p{M}'’-]+(?:\\s\\p{Lu}[\\p{L}\\p{M}'’-]*)?";
const REST = "(?<rest>[^.!?\\n]+)";

/** Something lasting that a message says of its writer. */
export interface Learned {
  readonly text: string;
  readonly subject: string;
  /** Since when it holds, as the message says: a date. */
  readonly validFrom?: string;
}

/** Of these a person has one at a time: a new one ends the one before. */
export const SINGLE: readonly string[] = ["name", "home", "work"];

/** Sentences that say something lasting of their writer, what it is about, and how it is noted. */
const PATTERNS: readonly (readonly [subject: string, RegExp, (rest: string) => string])[] = [
  ["note", /\bremember\s+(?:that\s+)?(?<rest>[^\n]+?)[.!]*$/iu, (rest) => capital(rest)],
  [
    "name",
    new RegExp(`\\b(?:my name is|i am called|i'm called|call me)\\s+(?<rest>${NAME})`, "iu"),
    (rest) => `Name: ${rest}`,
  ],
  [
    "home",
    new RegExp(`\\bi (?:have )?(?:now )?(?:live|lived|moved) (?:in|to|near)\\s+${REST}`, "iu"),
    (rest) => `Lives in ${rest}`,
  ],
  ["work", new RegExp(`\\bi work\\s+${REST}`, "iu"), (rest) => `Works ${rest}`],
  ["diet", new RegExp(`\\bi(?:'m| am|’m) allergic to\\s+${REST}`, "iu"), (rest) => `Allergic to ${rest}`],
  [
    "likes",
    new RegExp(`\\bi (?:really )?(?:like|love|enjoy|prefer|drink)\\s+${REST}`, "iu"),
    (rest) => `Likes ${rest}`,
  ],
  ["possessions", new RegExp(`\\bi have (?=an? |two |three |\\d)${REST}`, "iu"), (rest) => `Has ${rest}`],
];

/** What a message says of the user that is worth noting. A question says nothing. */
export function learnedFrom(text: string): Learned[] {
  const found = new Map<string, Learned>();
  for (const sentence of text.split(/(?<=[.!?\n])\s+|,? and (?=(?:i|my)\b)/iu)) {
    if (isQuestion(sentence)) continue;
    for (const [subject, pattern, note] of PATTERNS) {
      const rest = pattern.exec(sentence)?.groups?.rest?.trim();
      if (!rest) continue;
      const since = SINGLE.includes(subject) ? SINCE.exec(rest) : null;
      const fact = note(since === null ? rest : rest.slice(0, since.index));
      found.set(fact, { text: fact, subject, ...(since !== null && { validFrom: dateOf(since.groups) }) });
      break;
    }
  }
  return [...found.values()];
}

const MONTHS = "january february march april may june july august september october november december".split(" ");
const SINCE = new RegExp(`\\s+(?:since|in)\\s+(?:(?<month>${MONTHS.join("|")})\\s+)?(?<year>[12]\\d{3})$`, "iu");

function dateOf({ month = "january", year = "" }: Record<string, string | undefined> = {}): string {
  return `${year}-${String(MONTHS.indexOf(month.toLowerCase()) + 1).padStart(2, "0")}-01`;
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
