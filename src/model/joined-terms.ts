import { documentTerms, termOf } from "./terms.js";

/**
 * The terms of a text with a space between them, as an index takes them: `documentTerms(text).join(" ")`, at a third of its
 * cost. Every append pays for it. So a text of nothing but ASCII is read once, byte by byte, without a string for each word.
 */
export function joinedTerms(text: string): string {
  const { length } = text;
  // No term is longer than its word.
  if (output.length < length) output = new Uint8Array(2 * length);
  let end = 0;
  let at = 0;
  while (at < length) {
    const start = at;
    let hash = 0;
    for (; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > LAST_ASCII) return documentTerms(text).join(" ");
      const letter = LOWER_CASE[code] as number;
      if (letter === 0) break;
      hash = (Math.imul(hash, 31) + letter) | 0;
    }
    if (at > start) {
      if (end > 0) output[end++] = SPACE;
      end =
        at - start <= ROOM ? writeKnown(text, start, at, hash, end) : write(termOf(text.slice(start, at)), output, end);
    }
    at += 1;
  }
  return decoder.decode(output.subarray(0, end));
}

const SPACE = 0x20;
const LAST_ASCII = 0x7f;

// The lower case of each letter and digit of ASCII, 0 for what is neither.
const LOWER_CASE = new Uint8Array(LAST_ASCII + 1);
for (const character of "0123456789abcdefghijklmnopqrstuvwxyz") {
  LOWER_CASE[character.charCodeAt(0)] = character.charCodeAt(0);
  LOWER_CASE[character.toUpperCase().charCodeAt(0)] = character.charCodeAt(0);
}

const decoder = new TextDecoder();
let output = new Uint8Array(4096);

// Texts use the same words over and over. Of each hash the last word is kept with its term: the length of each, and their bytes.
const SLOTS = 2 ** 13;
const SLOT_BYTES = 32;
const ROOM = SLOT_BYTES / 2 - 1;
const known = new Uint8Array(SLOTS * SLOT_BYTES);

function writeKnown(text: string, start: number, end: number, hash: number, to: number): number {
  const slot = ((hash ^ (hash >>> 13)) & (SLOTS - 1)) * SLOT_BYTES;
  const word = slot + 2;
  const term = word + ROOM;
  if (!holds(word, known[slot] as number, text, start, end)) {
    const lower = text.slice(start, end).toLowerCase();
    known[slot] = write(lower, known, word) - word;
    known[slot + 1] = write(termOf(lower), known, term) - term;
  }
  const length = known[slot + 1] as number;
  for (let index = 0; index < length; index += 1) output[to + index] = known[term + index] as number;
  return to + length;
}

function holds(word: number, length: number, text: string, start: number, end: number): boolean {
  if (length !== end - start) return false;
  for (let index = 0; index < length; index += 1) {
    if (known[word + index] !== LOWER_CASE[text.charCodeAt(start + index)]) return false;
  }
  return true;
}

function write(ascii: string, bytes: Uint8Array, at: number): number {
  for (let index = 0; index < ascii.length; index += 1) bytes[at + index] = ascii.charCodeAt(index);
  return at + ascii.length;
}
