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
  for (let at = 0; at < length; at += 1) input[at] = LOWER_CASE[input[at] as number] as number;
  input.fill(0, length, length + SLACK);
  const end = writeTerms(text, length);
  return end === 0 ? "" : decoder.decode(output.subarray(0, end - 1));
}

// The lower case of each letter and digit of ASCII, 0 for what is neither.
const LOWER_CASE = new Uint8Array(128);
for (const character of "0123456789abcdefghijklmnopqrstuvwxyz") {
  LOWER_CASE[character.charCodeAt(0)] = character.charCodeAt(0);
  LOWER_CASE[character.toUpperCase().charCodeAt(0)] = character.charCodeAt(0);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// A word is read, and a term written, as so many numbers of four bytes, whatever is behind its end.
const NUMBERS = 3;
const LETTERS = 4 * NUMBERS;
const SLACK = LETTERS + 4;

const ROOM = 16_384;
let input: Uint8Array;
let output: Uint8Array;
let inputView: DataView;
let outputView: DataView;
makeRoom(ROOM);

// No term is longer than its word.
function makeRoom(length: number): void {
  input = new Uint8Array(length + SLACK);
  output = new Uint8Array(length + SLACK);
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

// Texts use the same words over and over. Of each hash the two latest words are kept, each with its term and the term's
// length: together, because finding them in memory is what takes the time.
const SETS = 2 ** 12;
const SLOT = 8;
const TERM = NUMBERS;
const LENGTH = 2 * NUMBERS;
const known = new Int32Array(SETS * 2 * SLOT);

// Gives where the space behind the last term ends.
function writeTerms(text: string, length: number): number {
  let end = 0;
  for (let start = 0; start < length; start += 1) {
    if (input[start] === 0) continue;
    const letters = lettersFrom(start);
    if (letters > LETTERS) {
      end += encoder.encodeInto(termOf(text.slice(start, start + letters)), output.subarray(end)).written;
    } else {
      const slot = slotOf(text, start, letters);
      outputView.setInt32(end, known[slot + TERM] as number, true);
      outputView.setInt32(end + 4, known[slot + TERM + 1] as number, true);
      outputView.setInt32(end + 8, known[slot + TERM + 2] as number, true);
      end += known[slot + LENGTH] as number;
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

function slotOf(text: string, start: number, letters: number): number {
  const masks = letters * NUMBERS;
  const a = inputView.getInt32(start, true) & (MASKS[masks] as number);
  const b = inputView.getInt32(start + 4, true) & (MASKS[masks + 1] as number);
  const c = inputView.getInt32(start + 8, true) & (MASKS[masks + 2] as number);
  const hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
  const first = ((hash ^ (hash >>> 15)) & (SETS - 1)) * 2 * SLOT;
  if (known[first] === a && known[first + 1] === b && known[first + 2] === c) return first;
  const second = first + SLOT;
  if (known[second] === a && known[second + 1] === b && known[second + 2] === c) return second;
  known.copyWithin(second, first, second);
  const term = termOf(text.slice(start, start + letters).toLowerCase());
  known.set([a, b, c, ...numbersOf(term), term.length], first);
  return first;
}

function numbersOf(term: string): number[] {
  const numbers = new Array<number>(NUMBERS).fill(0);
  for (let index = 0; index < term.length; index += 1) {
    numbers[index >> 2] = (numbers[index >> 2] as number) | (term.charCodeAt(index) << (8 * (index & 3)));
  }
  return numbers;
}
