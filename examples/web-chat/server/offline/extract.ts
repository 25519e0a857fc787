import type { ExtractRequest, LearnEdit } from "stemma";
import { learnedFrom, matching, unwantedIn } from "./learned";

/** What messages say of their writer, for `onLearning`. What a later one asks to forget is left out. */
export function offlineExtract({ messages }: ExtractRequest): LearnEdit[] {
  let facts: { fact: string; messageId: string }[] = [];
  for (const { id, role, parts } of messages) {
    if (role !== "user") continue;
    const text = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join(" ");
    const unwanted = unwantedIn(text);
    if (unwanted === null) facts.push(...learnedFrom(text).map((fact) => ({ fact, messageId: id })));
    else facts = facts.filter(({ fact }) => matching([fact], unwanted).length === 0);
  }
  return facts.map(({ fact, messageId }) => {
    return { action: "add", label: "memory", content: `- ${fact}`, messageIds: [messageId] };
  });
}
