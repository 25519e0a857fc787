import { forEachYielding } from "../lib/event-loop.js";
import { isInlineMedia, mayHoldMedia } from "./media.js";
import type { SessionMessage, SessionMessagePart } from "./message.js";
import { readToolPart } from "./tool-parts.js";

/** Characters that make up a token, as estimated. */
export const CHARS_PER_TOKEN = 4;
/** Tokens that a word has at least, as estimated. */
export const WORDS_TOKEN_MULTIPLIER = 1.3;
/** Tokens that a message costs beside its parts. */
export const TOKENS_PER_MESSAGE = 4;
/** Tokens of an image or another file that is sent inline, whatever its size. */
const TOKENS_PER_INLINE_FILE = 1000;
/** Inline media inside JSON that are shorter than this are counted as text. */
const MIN_MEDIA_LENGTH = 2048;

/**
 * Estimated tokens of a text: `ceil(max(chars / 4, words × 1.3))`, and one for each Chinese, Japanese or Korean character
 * beside that. Deterministic, without a tokeniser; made to be called for every message that is written.
 */
export function estimateStringTokens(text: string): number {
  const { length } = text;
  const asciiWords = countAsciiWords(text);
  if (asciiWords !== null) return tokensOf(length, asciiWords);
  let chars = length;
  let words = 0;
  let ideographs = 0;
  // 1 inside a word, 0 outside.
  let inWord = 0;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    let inNext: number;
    if (code < 0x80) {
      // 1 above the space, without a branch: where words end is what a processor cannot predict.
      inNext = (0x20 - code) >>> 31;
    } else if (isIdeograph(code)) {
      inNext = 0;
      ideographs += 1;
      chars -= 1;
    } else if (code >= 0xd840 && code <= 0xd8bf) {
      // The first half of a character of planes 2 and 3, which hold nothing but ideographs.
      inNext = 0;
      ideographs += 1;
      chars -= 2;
      index += 1;
    } else {
      inNext = isWideSpace(code) ? 0 : 1;
    }
    words += inNext & ~inWord;
    inWord = inNext;
  }
  return tokensOf(chars, words) + ideographs;
}

function tokensOf(chars: number, words: number): number {
  return Math.ceil(Math.max(chars / CHARS_PER_TOKEN, words * WORDS_TOKEN_MULTIPLIER));
}

const encoder = new TextEncoder();
const bytes = new Uint8Array(65_536);
const quads = new Uint32Array(bytes.buffer);

// The words of a text that is only ASCII and not too long; null for any other. Takes four characters at a time, because
// every text that is written is read here from end to end.
function countAsciiWords(text: string): number | null {
  const { length } = text;
  if (length > bytes.length) return null;
  const { read, written } = encoder.encodeInto(text, bytes);
  if (read !== length || written !== length) return null;
  const end = (length + 3) >> 2;
  bytes.fill(0x20, length, end * 4);
  let words = 0;
  let before = 0;
  for (let index = 0; index < end; index += 1) {
    // The high bit of each byte: set where the character is above the space.
    const solid = ((quads[index] as number) + 0x5f5f5f5f) & 0x80808080;
    const starts = solid & ~((solid << 8) | before);
    words += Math.imul(starts >>> 7, 0x01010101) >>> 24;
    before = solid >>> 24;
  }
  return words;
}

/**
 * Estimated tokens of a message: 4, its texts and reasoning, tool inputs and outputs as JSON, 1,000 for an inline file of
 * whatever size. Inline media inside tool outputs and data parts count 1,000 as well, never by their base64.
 */
export function estimateMessageTokens(message: SessionMessage): number {
  let tokens = TOKENS_PER_MESSAGE;
  for (const part of message.parts) tokens += partTokens(part);
  return tokens;
}

/** Estimated tokens of several messages together. */
export function estimateTokens(messages: readonly SessionMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateMessageTokens(message);
  return tokens;
}

/** Estimates the tokens of messages in pieces between which the event loop runs. */
export async function estimateTokensInPieces(messages: readonly SessionMessage[]): Promise<number> {
  let tokens = 0;
  await forEachYielding(messages, (message) => {
    tokens += estimateMessageTokens(message);
  });
  return tokens;
}

function partTokens(part: SessionMessagePart): number {
  const type: unknown = part?.type;
  // Rows that another program wrote may hold anything.
  if (typeof type !== "string") return jsonTokens(part);
  if (type === "text" || type === "reasoning")
    return typeof part.text === "string" ? estimateStringTokens(part.text) : 0;
  // Marks and sources are for the reader; no model is sent them.
  if (type === "step-start" || type.startsWith("source-")) return 0;
  if (type === "file") {
    if (typeof part.url === "string" && part.url.startsWith("data:")) return TOKENS_PER_INLINE_FILE;
    return jsonTokens(part);
  }
  const tool = readToolPart(part);
  if (tool === null) return jsonTokens(part);
  return jsonTokens(tool.input) + jsonTokens(tool.output) + estimateStringTokens(tool.errorText ?? "");
}

function jsonTokens(value: unknown): number {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) return 0;
  if (json.length < MIN_MEDIA_LENGTH || !mayHoldMedia(json)) return estimateStringTokens(json);
  let media = 0;
  const rest = JSON.stringify(value, function (this: unknown, key, child) {
    if (typeof child !== "string" || child.length < MIN_MEDIA_LENGTH || !isInlineMedia(this, key, child)) return child;
    media += 1;
    return "";
  });
  return estimateStringTokens(rest) + media * TOKENS_PER_INLINE_FILE;
}

// Han, kana, bopomofo and hangul with their punctuation and full-width forms.
function isIdeograph(code: number): boolean {
  if (code < 0x2e80) return code >= 0x1100 && code <= 0x11ff;
  return (
    (code <= 0x9fff && code !== 0x3000) ||
    (code >= 0xac00 && code <= 0xd7ff) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xff01 && code <= 0xffef) ||
    (code >= 0xa960 && code <= 0xa97f)
  );
}

function isWideSpace(code: number): boolean {
  if (code < 0x2000) return code === 0xa0;
  return code <= 0x200a || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x3000;
}
