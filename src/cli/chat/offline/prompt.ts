import type { LanguageModelV3CallOptions } from "@ai-sdk/provider";
import { parsePrompt } from "../../../context/prompt.js";
import { appendText } from "../../../model/text.js";
import { parseNote } from "../../../session/turn/notes.js";

type Message = LanguageModelV3CallOptions["prompt"][number];

const lastQuestion = (prompt: readonly Message[]): number => prompt.findLastIndex(({ role }) => role === "user");

/** What the user asked last; "" where that holds no text. */
export function questionOf({ prompt }: LanguageModelV3CallOptions): string {
  return textOf(prompt[lastQuestion(prompt)]);
}

/** The newest result of a tool that was called for the last question; null when none was. */
export function resultOf({ prompt }: LanguageModelV3CallOptions): string | null {
  for (const message of prompt.slice(lastQuestion(prompt) + 1).toReversed()) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const { output } = part;
      if (output.type === "text" || output.type === "error-text") return output.value;
      return JSON.stringify("value" in output ? output.value : output);
    }
  }
  return null;
}

/** The memory block: as the system prompt shows it, with the changes that were told since. */
export function memoryOf(options: LanguageModelV3CallOptions): string {
  const system = options.prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
  // The first part is the user's own, who can write what looks like a block.
  const told = options.prompt.flatMap((message) =>
    message.role === "user"
      ? message.content.slice(1).flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );
  const blocks = [...system.flatMap(parsePrompt), ...told.flatMap(parseNote)].filter(({ label }) => label === "MEMORY");
  return blocks.reduce((memory, { content, ...block }) => {
    return "added" in block && block.added ? appendText(memory, content) : content;
  }, "");
}

function textOf(message: Message | undefined): string {
  if (message?.role !== "user") return "";
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  // Questions that had no answer stand before the last one, and behind it what the session tells of the blocks.
  return texts.findLast((text) => parseNote(text).length === 0) ?? texts[0] ?? "";
}
