import { StemmaError } from "@stemma/model";

/** A byte that is not UTF-8 stands in the text as this plus the byte: half a surrogate pair, which no UTF-8 decodes to. */
const ESCAPE = 0xdc00;
const NEWLINE = "\n";

/**
 * Text of a byte stream in UTF-8. A byte that is not UTF-8 is told by `findNoUtf8`, and a character that is cut at the end is
 * U+FFFD. A byte order mark stays. Errors: `UNKNOWN_FORMAT` for a file that begins as UTF-16, UTF-32 or no text.
 */
export async function* decodeUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = new Uint8Array(0);
  let isStart = true;
  for await (const chunk of bytes) {
    const all = rest.length === 0 ? chunk : concat(rest, chunk);
    if (isStart && all.length < 4) {
      rest = all.slice();
      continue;
    }
    if (isStart) assertUtf8(all);
    isStart = false;
    const end = all.length - cutLength(all);
    yield decode(all.subarray(0, end), decoder);
    // Whoever gave the chunk may write over it.
    rest = all.slice(end);
  }
  if (isStart) assertUtf8(rest);
  const end = rest.length - cutLength(rest);
  yield decode(rest.subarray(0, end), decoder);
  if (end < rest.length) yield "\ufffd";
}

/** The first byte of a decoded text that is not UTF-8: how many lines stand before it, and its place in its own, from 1. Null for none. */
export function findNoUtf8(text: string): { byte: number; lines: number; column: number } | null {
  if (text.isWellFormed()) return null;
  const index = text.search(/\p{Surrogate}/u);
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf(NEWLINE) + 1;
  return {
    byte: text.charCodeAt(index) - ESCAPE,
    lines: before.split(NEWLINE).length - 1,
    column: byteLength(before.slice(lineStart)) + 1,
  };
}

/** How many bytes of the stream a decoded text was. */
export function byteLength(text: string): number {
  const { length } = new TextEncoder().encode(text);
  // A byte that is not UTF-8 is encoded as the three of U+FFFD.
  return text.isWellFormed() ? length : length - 2 * (text.match(/\p{Surrogate}/gu)?.length ?? 0);
}

// JSON holds no NUL, and each of its first two characters is ASCII.
function assertUtf8(start: Uint8Array): void {
  const [first, second] = start;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (!isWide && !start.subarray(0, 4).includes(0)) return;
  const message =
    "The file is not text in UTF-8: it begins as UTF-16 does, or as no text. Convert it first: iconv -f UTF-16 -t UTF-8.";
  throw new StemmaError("UNKNOWN_FORMAT", {}, message);
}

function decode(bytes: Uint8Array, decoder: TextDecoder): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return decodeEscaping(bytes, decoder);
  }
}

function decodeEscaping(bytes: Uint8Array, decoder: TextDecoder): string {
  const pieces: string[] = [];
  let start = 0;
  for (let index = 0; index < bytes.length; ) {
    const length = sequenceLength(bytes, index);
    if (length > 0 && index + length <= bytes.length) {
      index += length;
      continue;
    }
    pieces.push(decoder.decode(bytes.subarray(start, index)), String.fromCharCode(ESCAPE + (bytes[index] ?? 0)));
    index += 1;
    start = index;
  }
  return [...pieces, decoder.decode(bytes.subarray(start))].join("");
}

/** How many bytes at the end are the beginning of a character. */
function cutLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    if (sequenceLength(bytes, bytes.length - length) > length) return length;
  }
  return 0;
}

/** The bytes of the character that begins there, as far as they are there; 0 where none begins. */
function sequenceLength(bytes: Uint8Array, start: number): number {
  const first = bytes[start] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let index = 1; index < length && start + index < bytes.length; index += 1) {
    const byte = bytes[start + index] ?? 0;
    const [least, most] = index === 1 ? secondBytes(first) : [0x80, 0xbf];
    if (byte < least || byte > most) return 0;
  }
  return length;
}

// Neither a longer form than needed, nor half a surrogate pair, nor above U+10FFFF.
function secondBytes(first: number): [least: number, most: number] {
  switch (first) {
    case 0xe0:
      return [0xa0, 0xbf];
    case 0xed:
      return [0x80, 0x9f];
    case 0xf0:
      return [0x90, 0xbf];
    case 0xf4:
      return [0x80, 0x8f];
    default:
      return [0x80, 0xbf];
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
