import { StemmaError } from "../errors.js";
import type { SessionMessage, SessionMessagePart } from "../model/message.js";
import { findSafeCuts, nextSafeCut } from "./boundary.js";
import { wholeNumber } from "./limits.js";
import {
  cutText,
  jsonBytes,
  PREVIEW_CHARS,
  previewOutput,
  type Reduction,
  reduceRest,
  shrinkFields,
  textBytes,
} from "./part-reductions.js";

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
  wholeNumber("maxBytes", maxBytes, 1);
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
