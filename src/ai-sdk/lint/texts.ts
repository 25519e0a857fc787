import type { SessionMessage } from "../../model/message.js";
import { sendable, sendableMessage } from "../../model/sendable.js";
import type { Report } from "./findings.js";

/** The message without halves of surrogate pairs and NUL, in whatever depth of its parts. */
export function mendTexts(message: SessionMessage, report: Report): SessionMessage {
  const mended = sendableMessage(message);
  if (mended === message) return message;
  const why = "holds half of a surrogate pair or NUL, which is no text. U+FFFD stands for each.";
  const { id: messageId, parts } = message;
  const broken = parts.flatMap((part, index) => (sendable(part) === part ? [] : [index]));
  for (const index of broken) report("malformed-text", { messageId, index }, `A part ${why}`);
  if (broken.length === 0) report("malformed-text", { messageId, index: null }, `The message ${why}`);
  return mended;
}
