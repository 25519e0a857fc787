import { diffArrays } from "diff/lib/diff/array.js";
import { documentTerms, termOf } from "./terms.js";
/**
 * The terms of a text with a space between them, as an index takes them: `documentTerms(text).join(" ")`, at a sixth of its
 * cost. Every append pays for it. So a text of nothing but ASCII is read as bytes, four at a time, without a string for each word.
 */
export function joinedTerms(text: string): string {
  const { length } = text;
  reserve(length);
  const { read, written } = encoder.encodeInto(text, input);
  if (read !== length || written !== length) return documentTerms(text).join(" ");
  input.fill(0, length, length + SLACK);
  for (let four = 0; four * 4 < length; four += 1) inputFours[four] = lowerCase(inputFours[four] as number);
  const end = writeTerms(text, length);
  return end === 0 ? "" : decoder.decode(output.subarray(0, end - 1));
}

// Four letters and digits of ASCII in lower case, with 0 in the place of what is neither. Added to a byte, 128 less the first
// character of a range sets its high bit from there on.
function lowerCase(four: number): number {
  const capitals = (four + 0x3f3f3f3f) & ~(four + 0x25252525) & 0x80808080;
  const lower = four | (capitals >>> 2);
  const letters = (lower + 0x1f1f1f1f) & ~(lower + 0x05050505);
  const digits = (four + 0x50505050) & ~(four + 0x46464646);
  const mask = (letters | digits) & 0x80808080;
  return lower & (mask | (mask - (mask >>> 7)));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// A word is read, and a term written, as so many numbers of four bytes, whatever is behind its end.
const NUMBERS = 3;
const LETTERS = 4 * NUMBERS;
const SLACK = LETTERS + 4;

const ROOM = 65_536;
let input: Uint8Array;
let output: Uint8Array;
let inputFours: Int32Array;
let inputView: DataView;
let outputView: DataView;
makeRoom(ROOM);

// No term is longer than its word.
function makeRoom(length: number): void {
  input = new Uint8Array(length + SLACK);
  output = new Uint8Array(length + SLACK);
  inputFours = new Int32Array(input.buffer, 0, input.length >> 2);
  inputView = new DataView(input.buffer);
  outputView = new DataView(output.buffer);
}

function reserve(length: number): void {
  const room = input.length - SLACK;
  if (length > room || (room > ROOM && length <= ROOM)) makeRoom(Math.max(length, ROOM));
}

// Of the numbers of a word with so many letters, the bits that are the word's.
const MASKS = new Int32Array((LETTERS + 1) * NUMBERS);
for (let letters = 0; letters <= LETTERS; letters += 1) {
  for (let letter = 0; letter < letters; letter += 1) {
    const place = letters * NUMBERS + (letter >> 2);
    MASKS[place] = (MASKS[place] as number) | (0xff << (8 * (letter & 3)));
  }
}

// Texts use the same words over and over. Of each hash the two latest words are kept. Behind the numbers of a word stands
// what its term is: how long, and its last letter, before which it is as the word begins. So few bytes are to be found in memory,
// which is what takes the time.
const SETS = 2 ** 12;
const SLOT = 4;
const TERM = NUMBERS;
const known = new Int32Array(SETS * 2 * SLOT);

// Gives where the space behind the last term ends.
function writeTerms(text: string, length: number): number {
  let end = 0;
  for (let start = 0; start < length; start += 1) {
    if (input[start] === 0) continue;
    const letters = lettersFrom(start);
    const term = letters > LETTERS ? OTHER : findTerm(text, start, letters);
    if (term === OTHER) {
      end += encoder.encodeInto(termOf(text.slice(start, start + letters)), output.subarray(end)).written;
    } else {
      outputView.setInt32(end, inputView.getInt32(start, true), true);
      outputView.setInt32(end + 4, inputView.getInt32(start + 4, true), true);
      outputView.setInt32(end + 8, inputView.getInt32(start + 8, true), true);
      end += term & 0xff;
      output[end - 1] = term >> 8;
    }
    output[end] = 0x20;
    end += 1;
    start += letters;
  }
  return end;
}

// The number of bytes before the next one that is 0.
function lettersFrom(start: number): number {
  for (let at = start; ; at += 4) {
    const four = inputView.getInt32(at, true);
    // The high bit of each byte that is 0, up to the first.
    const zeros = (four - 0x01010101) & ~four & 0x80808080;
    if (zeros !== 0) return at - start + ((31 - Math.clz32(zeros & -zeros)) >> 3);
  }
}

function findTerm(text: string, start: number, letters: number): number {
  const masks = letters * NUMBERS;
  const a = inputView.getInt32(start, true) & (MASKS[masks] as number);
  const b = inputView.getInt32(start + 4, true) & (MASKS[masks + 1] as number);
  const c = inputView.getInt32(start + 8, true) & (MASKS[masks + 2] as number);
  const hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
  const first = ((hash ^ (hash >>> 15)) & (SETS - 1)) * 2 * SLOT;
  if (known[first] === a && known[first + 1] === b && known[first + 2] === c) return known[first + TERM] as number;
  const second = first + SLOT;
  if (known[second] === a && known[second + 1] === b && known[second + 2] === c) return known[second + TERM] as number;
  for (let place = first; place < second; place += 1) known[place + SLOT] = known[place] as number;
  known[first] = a;
  known[first + 1] = b;
  known[first + 2] = c;
  const term = shortTerm(text.slice(start, start + letters).toLowerCase());
  known[first + TERM] = term;
  return term;
}

/** The term of a word that is another one than the word's beginning and a letter, "die" of "dying". */
const OTHER = 0;

function shortTerm(word: string): number {
  const term = termOf(word);
  const last = term.length - 1;
  return word.startsWith(term.slice(0, last)) ? (term.charCodeAt(last) << 8) | term.length : OTHER;
}

/** A run of text that both sides have, or only one. */
export interface Run {
  readonly kind: "same" | "removed" | "added";
  readonly items: readonly string[];
}

// Beyond so many steps the rest counts as replaced as a whole.
const MOST_STEPS = 1500;

/** Compares two lists by the shortest script of Myers (1986): runs that are the same, removed and added. */
export function compare(before: readonly string[], after: readonly string[]): Run[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const runs: Run[] = [
    { kind: "same", items: before.slice(0, start) },
    ...changed(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    { kind: "same", items: before.slice(before.length - end) },
  ];
  return runs.filter(({ items }) => items.length > 0);
}

// Between two runs that are the same, what was removed stands before what was added.
function changed(before: string[], after: string[]): Run[] {
  const changes = diffArrays(before, after, { maxEditLength: MOST_STEPS });
  if (changes === undefined) return replacement(before, after);
  const runs: Run[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  for (const change of changes) {
    if (change.removed) removed = removed.concat(change.value);
    else if (change.added) added = added.concat(change.value);
    else {
      runs.push(...replacement(removed, added), { kind: "same", items: change.value });
      removed = [];
      added = [];
    }
  }
  return [...runs, ...replacement(removed, added)];
}

function replacement(removed: readonly string[], added: readonly string[]): Run[] {
  return [
    { kind: "removed", items: removed },
    { kind: "added", items: added },
  ];
}
