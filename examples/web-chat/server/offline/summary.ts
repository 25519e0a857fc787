import type { SessionMessage } from "stemma";

const MAX_LINE = 140;
const MAX_LINES = 12;

/** Stands in for a model's summary: the first sentence of each message that the prompt asks to summarise. It says what it is. */
export function offlineSummary(prompt: string): string {
  const conversation =
    /^<<< conversation >>>$(?<text>.*)^<<< end of conversation >>>$/msu.exec(prompt)?.groups?.text ?? "";
  const lines = conversation
    .split(/^<<< message from /mu)
    .slice(1)
    .flatMap((message) => {
      const role = /^\S+/u.exec(message)?.[0] ?? "";
      const text = message.slice(message.indexOf("\n") + 1).split(/^<<< /mu)[0] ?? "";
      const sentence = /^.*?[.!?:](?=\s|$)|^.+/u.exec(
        text
          .replace(/[#*_>`]/gu, "")
          .replace(/\s+/gu, " ")
          .trim(),
      )?.[0];
      return sentence ? [`- **${role}**: ${sentence.slice(0, MAX_LINE).toWellFormed()}`] : [];
    });
  const shown = lines.length <= MAX_LINES ? lines : [...lines.slice(0, 4), "- …", ...lines.slice(4 - MAX_LINES)];
  return `Picked from the conversation by the offline responder; no language model wrote this.\n\n${shown.join("\n")}`;
}

/** The first question. */
export function offlineTitle(_prompt: string, messages: readonly SessionMessage[]): string | null {
  const question = messages.find(({ role }) => role === "user");
  return question?.parts.find((part) => part.type === "text")?.text ?? null;
}
