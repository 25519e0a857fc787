import { describeMessages } from "../compaction/summary.js";
import type { SessionMessage } from "../model/message.js";
import { searchableText } from "../model/text.js";
import { shortened } from "./budget.js";

/** The most that one message takes of a transcript. */
const SHARE_OF_ONE = 0.4;

/** All that a message says: its text, then its tool calls, results and files, each of these bounded. */
export function messageText(message: SessionMessage): string {
  const others = message.parts.filter((part) => part?.type !== "text");
  const text = searchableText(message);
  const rest = describeMessages([{ ...message, parts: others }]).slice(1);
  return [...(text === "" ? [] : [text]), ...rest].join("\n");
}

/**
 * A message as a part of a transcript: a line that tells id, role, sender and time, then what it says, at most two fifths of
 * `tokens`. No text of a message can pass for such a line.
 */
export function transcriptOf(message: SessionMessage, tokens: number): string {
  const lines = describeMessages([message], ({ id }) => id);
  return shortened(lines.join("\n"), Math.floor(tokens * SHARE_OF_ONE));
}
