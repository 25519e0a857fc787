import { searchableText } from "@stemma/model";
import type { LearnEdit } from "@stemma/session";
import { createLearnFunction } from "@stemma/session";

/** Facts that people tell of themselves in so many words, and the line that each makes. A later one of a kind replaces an earlier. */
const FACTS: readonly { readonly pattern: RegExp; readonly starts: string }[] = [
  {
    pattern:
      /\b(?:[Mm]y name is|I am called|I'm called|[Cc]all me)\s+(?<what>\p{Lu}[\p{L}'-]*(?:\s\p{Lu}[\p{L}'-]*)*)/u,
    starts: "Is called",
  },
  { pattern: /\bI live in\s+(?<what>\p{Lu}[\p{L}'-]*(?:\s\p{Lu}[\p{L}'-]*)*)/u, starts: "Lives in" },
  { pattern: /\bI work (?<what>(?:as|at|for)\s[^.!?\n]{2,60})/u, starts: "Works" },
];

/** Learns the few facts of a conversation that the offline responder knows words for. */
export const offlineLearning = createLearnFunction({
  extract: ({ messages, blocks }) => {
    const memory = blocks.find(({ label }) => label === "memory")?.content ?? "";
    let lines = memory.split("\n");
    return messages
      .filter(({ role }) => role === "user")
      .flatMap((message) => {
        const edits = factsIn(searchableText(message)).map(({ starts, fact }): LearnEdit => {
          const old = lines.find((line) => line.startsWith(`- ${starts} `));
          lines = [...lines.filter((line) => line !== old), `- ${fact}`];
          const content = `- ${fact}`;
          const change = old === undefined ? { action: "add" as const } : { action: "replace" as const, old };
          return { ...change, label: "memory", content, messageIds: [message.id] };
        });
        return edits;
      });
  },
});

/** The name that a text gives as its writer's; null where it gives none. */
export function nameIn(text: string): string | null {
  return FACTS[0]?.pattern.exec(text)?.groups?.what ?? null;
}

function factsIn(text: string): { starts: string; fact: string }[] {
  return FACTS.flatMap(({ pattern, starts }) => {
    const what = pattern.exec(text)?.groups?.what?.trim();
    return what === undefined ? [] : [{ starts, fact: `${starts} ${what}.` }];
  });
}
