import type { SessionMessagePart } from "../model/message.js";
import { readToolPart, withToolOutput } from "../model/tool-parts.js";
import { utf8Length } from "../model/utf8.js";
import { shrinkJson, sliceWhole, truncationNote, withNote } from "./shrink.js";

/** Characters that are left of what is replaced by a preview, at most. */
export const PREVIEW_CHARS = 2_000;
/** Bytes that are left of a long text at least. */
const MIN_TEXT_BYTES = 1_000;
/** Fields that pair and name tool parts. */
const PART_IDENTITY = new Set(["type", "toolCallId", "toolName", "state", "id", "tool_use_id", "name"]);

/** Makes a part smaller, as far as it can; gives back the same part when it cannot. */
export type Reduction = (part: SessionMessagePart, need: Need) => SessionMessagePart;

interface Need {
  /** Bytes that the message has too many. */
  excess: number;
  /** Characters that are left of what is replaced by a preview. */
  preview: number;
}

/** A tool part with a preview of its output. */
export const previewOutput: Reduction = (part, { preview }) => {
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
export const cutText: Reduction = (part, { excess }) => {
  const spare = textBytes(part);
  if (spare === 0) return part;
  const text = cutToBytes(part.text as string, spare + MIN_TEXT_BYTES - Math.min(spare, excess));
  // A provider signs what its model thought; the signature does not fit a part of it.
  return part.type === "reasoning" ? { type: part.type, text } : { ...part, text };
};

/** Bytes that cutting a part's text can save. */
export function textBytes(part: SessionMessagePart): number {
  if ((part.type !== "text" && part.type !== "reasoning") || typeof part.text !== "string") return 0;
  return Math.max(0, jsonBytes(part.text) - MIN_TEXT_BYTES);
}

/** Any part without what it can do without: a text says what is left out. */
export const reduceRest: Reduction = (part, { preview }) => {
  if (part.type === "text" || part.type === "reasoning") return { type: part.type, text: part.text ?? "" };
  if (readToolPart(part) !== null) return shrinkFields(part, PART_IDENTITY, preview);
  const kind = part.mediaType === undefined ? part.type : `${part.type} (${part.mediaType})`;
  return {
    type: "text",
    text: `[${shrinkJson(kind, 100)} of ${jsonBytes(part)} bytes left out: the message was too large to store]`,
  };
};

/** Replaces every large field but those named by a preview. */
export function shrinkFields<T extends object>(value: T, except: ReadonlySet<string>, chars: number): T {
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
  const kept = sliceWhole(text, low);
  return kept + truncationNote(text.length - kept.length);
}

/** The size of a value as JSON, in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  const json = JSON.stringify(value) as string | undefined;
  return json === undefined ? 0 : utf8Length(json);
}
