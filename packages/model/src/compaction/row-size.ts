import { StemmaError } from "../errors.js";
import * as check from "../lib/option-table.js";
import { assertArgument } from "../lib/option-table.js";
import type { SessionMessage, SessionMessagePart } from "../messages/message.js";
import { utf8Length } from "../messages/storable-text.js";
import { readToolPart, withToolOutput } from "../messages/tool-parts.js";
import { findSafeCuts, nextSafeCut } from "./boundary.js";
import { shrinkJson, sliceWhole, truncationNote, withNote } from "./shrink.js";

/** The share of the limit that a preview may take. */
const PREVIEW_SHARE = 1 / 20;
const MESSAGE_IDENTITY = new Set(["id", "role", "parts"]);

/**
 * A message whose JSON has at most `maxBytes` bytes of UTF-8, for stores that limit a row; the same object when it fits.
 *
 * The largest parts are cut first, and only as far as needed. Tool outputs become a preview with a note that the tool can be
 * run again; then long texts are cut. If that is not enough, tool inputs, files, data and metadata are cut before the texts
 * are cut further; last, the oldest parts are left out, calls with their results. A note marks each cut. Parts keep the shape that
 * `convertToModelMessages` expects; the argument is not changed. Errors: `INVALID_ARGUMENT`; `MESSAGE_TOO_LARGE` when the
 * limit is too small even without any part.
 */
export function enforceRowSizeLimit<M extends SessionMessage>(message: M, maxBytes = 1_800_000): M {
  assertArgument(check.whole(1), maxBytes, "maxBytes");
  let excess = jsonBytes(message) - maxBytes;
  if (excess <= 0) return message;
  const preview = Math.min(PREVIEW_CHARS, Math.floor(maxBytes * PREVIEW_SHARE));
  const parts: SessionMessagePart[] = [...message.parts];
  const sizes = parts.map(jsonBytes);
  let draft: M = { ...message, parts };

  const reduceParts = (reduce: Reduction): void => {
    const largestFirst = [...parts.keys()].sort((a, b) => (sizes[b] as number) - (sizes[a] as number));
    for (const index of largestFirst) {
      if (excess <= 0) return;
      const part = reduce(parts[index] as SessionMessagePart, { excess, preview });
      const saved = (sizes[index] as number) - jsonBytes(part);
      if (saved <= 0) continue;
      parts[index] = part;
      sizes[index] = (sizes[index] as number) - saved;
      excess -= saved;
    }
  };
  const reduceFields = (): void => {
    if (excess <= 0) return;
    draft = shrinkFields(draft, MESSAGE_IDENTITY, preview);
    excess = jsonBytes(draft) - maxBytes;
  };

  reduceParts(previewOutput);
  if (excess > parts.reduce((sum, part) => sum + textBytes(part), 0)) {
    if (jsonBytes({ ...draft, parts: [] }) > excess) reduceFields();
    reduceParts(reduceRest);
    reduceFields();
  }
  reduceParts(cutText);
  return excess <= 0 ? draft : dropOldestParts(draft, sizes, maxBytes);
}

function dropOldestParts<M extends SessionMessage>(message: M, sizes: readonly number[], maxBytes: number): M {
  const note = (left: number) => ({
    type: "text",
    text: `[${left} earlier parts left out: the message was too large to store]`,
  });
  const { parts } = message;
  let room = maxBytes - jsonBytes({ ...message, parts: [note(parts.length)] });
  if (room < 0) {
    const why = `Message "${message.id}" cannot be brought under ${maxBytes} bytes: what it holds beside its parts is too large. Raise the limit.`;
    throw new StemmaError("MESSAGE_TOO_LARGE", { messageId: message.id, maxBytes }, why);
  }
  let start = parts.length;
  while (start > 0 && room > (sizes[start - 1] as number)) {
    start -= 1;
    room -= (sizes[start] as number) + 1;
  }
  // Calls and results within a message are kept together as those of different messages are.
  const cuts = findSafeCuts(parts.map((part) => ({ id: message.id, role: message.role, parts: [part] })));
  start = nextSafeCut(cuts, start);
  return { ...message, parts: [note(start), ...parts.slice(start)] };
}

/** Characters that are left of what is replaced by a preview, at most. */
const PREVIEW_CHARS = 2_000;
/** Bytes that are left of a long text at least. */
const MIN_TEXT_BYTES = 1_000;
/** Fields that pair and name tool parts. */
const PART_IDENTITY = new Set(["type", "toolCallId", "toolName", "state", "id", "tool_use_id", "name"]);

/** Makes a part smaller, as far as it can; gives back the same part when it cannot. */
type Reduction = (part: SessionMessagePart, need: Need) => SessionMessagePart;

interface Need {
  /** Bytes that the message has too many. */
  excess: number;
  /** Characters that are left of what is replaced by a preview. */
  preview: number;
}

/** A tool part with a preview of its output. */
const previewOutput: Reduction = (part, { preview }) => {
  const tool = readToolPart(part);
  if (tool === null) return part;
  const output = previewOf(tool.output, preview);
  const cut = output === tool.output ? part : withToolOutput(part, output);
  const errorText = previewOf(tool.errorText, preview);
  return errorText === tool.errorText ? cut : { ...cut, errorText: errorText as string };
};

function previewOf(output: unknown, chars: number): unknown {
  const cut = shrinkJson(output, chars);
  if (cut === output) return output;
  const bytes = jsonBytes(output);
  return withNote(
    cut,
    `[This output of ${bytes} bytes was too large to store; this is a preview. Run the tool again for all of it.]`,
  );
}

/** A text cut as far as needed, but not below `MIN_TEXT_BYTES`. */
const cutText: Reduction = (part, { excess }) => {
  const spare = textBytes(part);
  if (spare === 0) return part;
  const text = cutToBytes(part.text as string, spare + MIN_TEXT_BYTES - Math.min(spare, excess));
  // A provider signs what its model thought; the signature does not fit a part of it.
  return part.type === "reasoning" ? { type: part.type, text } : { ...part, text };
};

/** Bytes that cutting a part's text can save. */
function textBytes(part: SessionMessagePart): number {
  if ((part.type !== "text" && part.type !== "reasoning") || typeof part.text !== "string") return 0;
  return Math.max(0, jsonBytes(part.text) - MIN_TEXT_BYTES);
}

/** Any part without what it can do without: a text says what is left out. */
const reduceRest: Reduction = (part, { preview }) => {
  if (part.type === "text" || part.type === "reasoning") return { type: part.type, text: part.text ?? "" };
  if (readToolPart(part) !== null) return shrinkFields(part, PART_IDENTITY, preview);
  const kind = part.mediaType === undefined ? part.type : `${part.type} (${part.mediaType})`;
  return {
    type: "text",
    text: `[${shrinkJson(kind, 100)} of ${jsonBytes(part)} bytes left out: the message was too large to store]`,
  };
};

/** Replaces every large field but those named by a preview. */
function shrinkFields<T extends object>(value: T, except: ReadonlySet<string>, chars: number): T {
  const fields = Object.entries(value).map(([key, field]) => [key, except.has(key) ? field : shrinkJson(field, chars)]);
  return Object.fromEntries(fields) as T;
}

// A text whose JSON has at most `maxBytes` bytes, the note that it was cut included.
function cutToBytes(text: string, maxBytes: number): string {
  const room = maxBytes - jsonBytes(truncationNote(text.length));
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (jsonBytes(text.slice(0, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  const head = sliceWhole(text, low);
  return head + truncationNote(text.length - head.length);
}

/** The size of a value as JSON, in bytes of UTF-8. */
function jsonBytes(value: unknown): number {
  const json = JSON.stringify(value) as string | undefined;
  return json === undefined ? 0 : utf8Length(json);
}
