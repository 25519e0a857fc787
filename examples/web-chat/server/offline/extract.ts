import type { ExtractRequest, LearnEdit } from "stemma";
import { type Learned, learnedFrom, matching, SINGLE, unwantedIn } from "./learned";

/** What messages say of their writer, for `onLearning`. What a later one asks to forget is left out. */
export function offlineExtract({ messages, entries }: ExtractRequest): LearnEdit[] {
  let facts: { fact: Learned; messageId: string }[] = [];
  for (const { id, role, parts } of messages) {
    if (role !== "user") continue;
    const text = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join(" ");
    const unwanted = unwantedIn(text);
    if (unwanted === null) facts.push(...learnedFrom(text).map((fact) => ({ fact, messageId: id })));
    else facts = facts.filter(({ fact }) => matching([fact.text], unwanted).length === 0);
  }
  const isNew = ({ fact }: { fact: Learned }) => entries.every(({ content }) => content !== fact.text);
  return facts.filter(isNew).map(({ fact: { text, subject, validFrom }, messageId }) => {
    const before = SINGLE.includes(subject) ? entries.filter((entry) => entry.subject === subject) : [];
    return {
      action: "add",
      label: "memory",
      // What was said before, and has ended since, is a fact of its own when it is said again.
      key: `${text} ${messageId}`,
      content: text,
      subject,
      validFrom,
      supersedes: before.map(({ key }) => key),
      messageIds: [messageId],
    };
  });
}
