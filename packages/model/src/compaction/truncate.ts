import * as check from "../lib/option-table.js";
import { assertArgument, defineOptions } from "../lib/option-table.js";
import { isSummaryMessage, type SessionMessage, type SessionMessagePart } from "../messages/message.js";
import { readToolPart, withToolOutput } from "../messages/tool-parts.js";
import { shrinkJson, truncateText } from "./shrink.js";

export interface TruncateOptions {
  /** Messages at the end that stay as they are. Default 4. */
  keepRecent?: number | undefined;
  /** Characters of JSON that a tool output or a tool's error text may have. Default 500. */
  maxToolOutputChars?: number | undefined;
  /** Characters that a text part may have. Default 10,000. */
  maxTextChars?: number | undefined;
}

const OPTIONS = defineOptions<TruncateOptions>({
  keepRecent: check.whole(0),
  maxToolOutputChars: check.whole(0),
  maxTextChars: check.whole(0),
});

/**
 * A copy of a history for sending to a model, in which long tool outputs and texts of older messages are cut. A note at each
 * cut says how much is missing. Structured outputs keep their shape. Tool inputs, reasoning, files and summaries of compacted ranges
 * are not cut. The argument is not changed; a message without a cut is the same object. Errors: `INVALID_ARGUMENT`.
 */
export function truncateOlderMessages<M extends SessionMessage>(
  messages: readonly M[],
  options: TruncateOptions = {},
): M[] {
  assertArgument(check.list("messages"), messages, "The history of truncateOlderMessages()");
  OPTIONS.assert(options, "truncateOlderMessages()");
  const { keepRecent = 4, maxToolOutputChars = 500, maxTextChars = 10_000 } = options;

  const cutPart = (part: SessionMessagePart): SessionMessagePart => {
    if (part.type === "text" && typeof part.text === "string") {
      const text = truncateText(part.text, maxTextChars);
      return text === part.text ? part : { ...part, text };
    }
    const tool = readToolPart(part);
    if (tool === null) return part;
    const output = shrinkJson(tool.output, maxToolOutputChars);
    const cut = output === tool.output ? part : withToolOutput(part, output);
    const errorText = truncateText(tool.errorText ?? "", maxToolOutputChars);
    return errorText === (tool.errorText ?? "") ? cut : { ...cut, errorText };
  };

  return messages.map((message, index) => {
    if (index >= messages.length - keepRecent || isSummaryMessage(message)) return message;
    const parts = message.parts.map(cutPart);
    return parts.every((part, place) => part === message.parts[place]) ? message : { ...message, parts };
  });
}
