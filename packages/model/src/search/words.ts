import { isAscii, normalText } from "./normal-text.js";

// Scripts in which a word is not set off by spaces: each character is indexed by itself.
const SCRIPTS = "Han Hiragana Katakana Hangul Thai Lao Khmer Myanmar".split(" ").map((name) => `\\p{Script=${name}}`);
const IN_WORDS = "\\p{L}\\p{N}\\p{M}\\p{Co}";
const UNSPACED = `[[${SCRIPTS.join("")}々〆ー]&&[${IN_WORDS}]]`;
// What takes megabytes in one go overflows the stack, for the engine keeps each step: a longer token is found in parts.
const MAX_RUN = 10_000;
const AT_ONCE = `{1,${MAX_RUN}}`;
const TOKEN = new RegExp(`${UNSPACED}${AT_ONCE}|[[${IN_WORDS}]--${UNSPACED}]${AT_ONCE}`, "gv");
// The same, but for each character of an unspaced script by itself.
const WORD = new RegExp(`${UNSPACED}|[[${IN_WORDS}]--${UNSPACED}]${AT_ONCE}`, "gv");
const BETWEEN_WORDS = new RegExp(`[^${IN_WORDS}]`, "v");
const UNSPACED_RUN = new RegExp(`^${UNSPACED}`, "v");
const HAS_UNSPACED = new RegExp(UNSPACED, "v");

/** Different words of a query, or sequences of them, that count: more make it slower, not better. */
export const MAX_WORDS = 256;

/** The words and unspaced runs of a normal text, in order, up to the one that would be too many different ones. */
export function tokenize(text: string): string[] {
  const found: string[] = [];
  const different = new Set<string>();
  for (const token of tokensOf(text)) {
    if (different.add(token).size > MAX_WORDS) break;
    found.push(token);
  }
  return found;
}

/** All words of a text, in order, in its normal form, each character of an unspaced script by itself. */
export function words(text: string): string[] {
  if (isAscii(text)) return text.match(/[\dA-Za-z]+/g) ?? [];
  const parts = normalText(text).split(BETWEEN_WORDS);
  return parts.filter(Boolean).flatMap((part) => (HAS_UNSPACED.test(part) ? apart(part) : part));
}

function apart(part: string): string[] {
  const found = part.match(WORD) ?? [];
  if (!found.some(({ length }) => length >= MAX_RUN)) return found;
  return tokensOf(part).flatMap((token) => (isUnspaced(token) ? Array.from(token) : token));
}

function tokensOf(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const tokens = wellFormed.match(TOKEN) ?? [];
  return tokens.some(({ length }) => length >= MAX_RUN) ? wholeTokens(wellFormed) : tokens;
}

// Parts of one token touch each other, and are of the same kind.
function wholeTokens(text: string): string[] {
  const found: string[] = [];
  let end = -1;
  let isLastUnspaced = false;
  for (const { 0: part, index } of text.matchAll(TOKEN)) {
    const isPartUnspaced = isUnspaced(part);
    if (index === end && isPartUnspaced === isLastUnspaced) found[found.length - 1] += part;
    else found.push(part);
    end = index + part.length;
    isLastUnspaced = isPartUnspaced;
  }
  return found;
}

/** Finds the words and unspaced runs of a normal text, one with each `exec`; those of more than 10,000 characters in parts. */
export function wordPattern(): RegExp {
  return new RegExp(TOKEN);
}

/** True for a run of characters of a script that is written without spaces. */
export function isUnspaced(token: string): boolean {
  return UNSPACED_RUN.test(token);
}
