import { searchableText } from "@stemma/model";
import type { LearnEdit } from "@stemma/session";
import { createLearnFunction } from "@stemma/session";

const MAX_LINE = 160;

/**
 * A summary of what `buildSummaryPrompt` asks to summarise, made of what was said: the first sentence of each message, the
 * names of the tools, as much as fits the length that is asked for.
 */
export function offlineSummary(prompt: string): string {
  const budget = Number(/^Aim for about (\d+) tokens/mu.exec(prompt)?.[1] ?? 100) * 4;
  const previous = between(prompt, "<<< previous summary >>>", "<<< end of previous summary >>>");
  const messages = between(prompt, "<<< conversation >>>", "<<< end of conversation >>>")
    .split(/^<<< message from /mu)
    .slice(1)
    .map((text) => ({ role: text.slice(0, text.search(/[\s(]/u)), said: sentence(text), tools: toolsIn(text) }));
  const said = messages.filter(({ said }) => said !== "").map(({ role, said }) => `- ${role}: ${said}`);
  const earlier = previous.split("\n").filter((line) => line.startsWith("- "));
  const tools = [...new Set(messages.flatMap((message) => message.tools))].join(", ");
  const frame = ["## Topic", said[0]?.slice(2) ?? "A conversation.", "", "## Key Points"];
  const state = [
    "",
    "## Current State",
    said.at(-1)?.slice(2) ?? "",
    ...(tools === "" ? [] : [`Tools used: ${tools}`]),
  ];
  const room = budget - [...frame, ...state].join("\n").length;
  return [...frame, ...fitting([...earlier, ...said], room), ...state].join("\n");
}

/** The lines that fit, from both ends: how it began and how it went on last matter most. */
function fitting(lines: readonly string[], room: number): string[] {
  const head: string[] = [];
  const tail: string[] = [];
  let left = room;
  for (let index = 0; index < lines.length; index += 1) {
    const fromEnd = index % 2 === 1;
    const line = (fromEnd ? lines.at(-1 - (index >> 1)) : lines[index >> 1]) ?? "";
    if (line.length + 1 > left) break;
    left -= line.length + 1;
    if (fromEnd) tail.unshift(line);
    else head.push(line);
  }
  return [...head, ...tail];
}

function between(text: string, start: string, end: string): string {
  const from = text.indexOf(start);
  const to = text.lastIndexOf(end);
  return from < 0 || to < from ? "" : text.slice(from + start.length, to).trim();
}

/** The first sentence of a message's text, which stands before its tools. */
function sentence(message: string): string {
  const text = (message.slice(message.indexOf("\n") + 1).split(/^<<< /mu)[0] ?? "").replace(/\s+/gu, " ").trim();
  const first = /^.*?[.!?。！？](?=\s|$)/u.exec(text)?.[0] ?? text;
  return first.length <= MAX_LINE ? first : `${first.slice(0, MAX_LINE - 1).toWellFormed()}…`;
}

function toolsIn(message: string): string[] {
  return [...message.matchAll(/^<<< tool call: (\S+)/gmu)].map((match) => match[1] ?? "");
}

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
