import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Text,
  LanguageModelV3ToolCall,
} from "@ai-sdk/provider";
import { streamOf } from "@stemma/chat";
import { appendText, parseQuery } from "@stemma/model";
import { parseNote, parsePrompt } from "@stemma/session";
import { nameIn } from "./summary.js";

type Move = LanguageModelV3Text | LanguageModelV3ToolCall;

/**
 * Stands in for a model where none is configured: a few rules that use the memory tools, through the same loop of tools
 * as a model would. It says what it is.
 */
export function offlineResponder(): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "stemma",
    modelId: "offline-responder",
    supportedUrls: {},
    doStream: async (options) => ({ stream: streamOf(partsOf(nextMove(options))) }),
    async doGenerate(options) {
      const move = nextMove(options);
      return { content: [move], ...endOf(move), warnings: [] };
    },
  };
}

const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function partsOf(move: Move): LanguageModelV3StreamPart[] {
  const start: LanguageModelV3StreamPart = { type: "stream-start", warnings: [] };
  const end: LanguageModelV3StreamPart = { type: "finish", ...endOf(move) };
  if (move.type === "tool-call") return [start, move, end];
  const words = move.text.split(/(?<=\s)/).map((delta): LanguageModelV3StreamPart => {
    return { type: "text-delta", id: "0", delta };
  });
  return [start, { type: "text-start", id: "0" }, ...words, { type: "text-end", id: "0" }, end];
}

function endOf({ type }: Move): Pick<LanguageModelV3GenerateResult, "usage" | "finishReason"> {
  const reason = type === "tool-call" ? "tool-calls" : "stop";
  return { usage: NO_TOKENS, finishReason: { unified: reason, raw: reason } };
}

function nextMove(options: LanguageModelV3CallOptions): Move {
  const rule = ruleFor(questionOf(options));
  if (rule === null) return say(HELP);
  const memory = memoryOf(options);
  const result = resultOf(options);
  if (result !== null) return say(rule.answer(result, memory));
  const move = rule.call(memory);
  if (move === null) return say(rule.answer("", memory));
  const { call: toolName, input } = move;
  if (!(options.tools ?? []).some(({ name }) => name === toolName))
    return say(`This session has no tool ${toolName}, which I would need for that.`);
  return { type: "tool-call", toolCallId: crypto.randomUUID(), toolName, input: JSON.stringify(input) };
}

function say(text: string): Move {
  return { type: "text", text };
}

type Message = LanguageModelV3CallOptions["prompt"][number];

const lastQuestion = (prompt: readonly Message[]): number => prompt.findLastIndex(({ role }) => role === "user");

/** The user's last question; "" where that holds no text. */
function questionOf({ prompt }: LanguageModelV3CallOptions): string {
  return textOf(prompt[lastQuestion(prompt)]);
}

/** The newest result of a tool that was called for the last question; null when none was. */
function resultOf({ prompt }: LanguageModelV3CallOptions): string | null {
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
function memoryOf(options: LanguageModelV3CallOptions): string {
  const system = options.prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
  // The first part is the user's own, who can write what looks like a block.
  const notes = options.prompt.flatMap((message) =>
    message.role === "user"
      ? message.content.slice(1).flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );
  const blocks = [...system.flatMap(parsePrompt), ...notes.flatMap(parseNote)].filter(
    ({ label }) => label === "MEMORY",
  );
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

const HELP = `I am the offline responder: a few fixed rules that use the memory tools, not a language model. I understand:
  remember that …            writes to the memory block
  forget …                   takes lines out of it
  what do you remember about …
  search …                   looks through all conversations
  my name is …               is learned when the chat ends, and known in the next
  what is my name?
For a model, start with --model anthropic/…, --model openai/…, or --base-url for a local server.`;

/** An answer to one kind of question. */
interface Rule {
  /** Null when no tool is needed. */
  call(memory: string): { call: string; input: unknown } | null;
  answer(result: string, memory: string): string;
}

const REMEMBER = /^\s*(?:please\s+)?remember(?:\s+that)?[\s:,]+(?<what>.+)$/isu;
const FORGET = /^\s*(?:please\s+)?forget(?:\s+that|\s+about)?[\s:,]+(?<what>.+)$/isu;
const RECALL = /^\s*what\s+do\s+you\s+(?:remember|know)(?:\s+(?:about|of))?(?<what>.*)$/isu;
const SEARCH = /^\s*search(?:\s+for)?[\s:]+(?<what>.+)$/isu;
const NAME = /^\s*(?:what(?:'s|\s+is)|do\s+you\s+know)\s+my\s+name\b/iu;
const ANSWER =
  /^(Hello, |Noted in the memory|From the memory|From earlier messages|Nothing is remembered|No message matches|\[session |The memory block no longer|I am the offline)/u;

/** The rule for what the user said; null when there is none. */
export function ruleFor(question: string): Rule | null {
  const match = (pattern: RegExp) => pattern.exec(question)?.groups?.what?.trim() ?? null;
  const fact = match(REMEMBER);
  if (fact !== null) return remember(fact);
  const old = match(FORGET);
  if (old !== null) return forget(old);
  const topic = match(RECALL);
  if (topic !== null) return recall(topic.replace(/(?<![?!.\s])[?!.\s]+$/u, ""));
  if (NAME.test(question)) return tellName();
  const name = nameIn(question);
  if (name !== null) return greet(name);
  const query = match(SEARCH);
  return query === null ? null : search(query);
}

function remember(fact: string): Rule {
  const line = fact.replace(/\s+/gu, " ");
  return {
    call: (memory) => {
      const content = `${memory === "" || memory.endsWith("\n") ? "" : "\n"}- ${line}`;
      return { call: "set_context", input: { label: "memory", content, action: "append" } };
    },
    answer: (result) => (isError(result) ? result : `Noted in the memory block: ${line}`),
  };
}

// The block may say it in other words, if a model wrote it.
function tellName(): Rule {
  return {
    call: () => null,
    answer: (_, memory) => {
      const line = memory.split("\n").find((each) => each.startsWith("- Is called ")) ?? "";
      return line === "" ? "Nothing is remembered about your name." : `From the memory block:\n${line}`;
    },
  };
}

function greet(name: string): Rule {
  const answer = `Hello, ${name}. I am the offline responder: I learn that when this chat ends, and know it in the next.`;
  return { call: () => null, answer: () => answer };
}

function forget(what: string): Rule {
  const others = (memory: string) => memory.split("\n").filter((line) => !mentions(line, what));
  return {
    call: (memory) => ({ call: "set_context", input: { label: "memory", content: others(memory).join("\n") } }),
    answer: (result) => (isError(result) ? result : `The memory block no longer holds lines about: ${what}`),
  };
}

function recall(topic: string): Rule {
  const everything = topic === "" || /^(me|everything|us)$/iu.test(topic);
  return {
    call: () => (everything ? null : { call: "session_search", input: { query: topic } }),
    answer: (result, memory) => {
      const lines = memory.split("\n").filter((line) => line.trim() !== "" && (everything || mentions(line, topic)));
      const said = hitsOf(result).filter(({ text }) => !isOurs(text) && !REMEMBER.test(text));
      const parts = [
        ...(lines.length > 0 ? [`From the memory block:\n${lines.join("\n")}`] : []),
        ...(said.length > 0 ? [`From earlier messages:\n${said.map(({ text }) => `- ${text}`).join("\n")}`] : []),
      ];
      return parts.length > 0 ? parts.join("\n\n") : `Nothing is remembered${topic === "" ? "" : ` about ${topic}`}.`;
    },
  };
}

function search(query: string): Rule {
  return {
    call: () => ({ call: "session_search", input: { query } }),
    answer: (result) => {
      if (isError(result)) return result;
      const hits = hitsOf(result).filter(({ text }) => !isOurs(text));
      if (hits.length === 0) return `No message matches: ${query}`;
      return hits.map(({ head, text }) => `${head}\n${text}`).join("\n\n");
    },
  };
}

/** The excerpts that `session_search` shows. */
function hitsOf(result: string): { head: string; text: string }[] {
  return result
    .split(/\n\n(?=\[session )/u)
    .filter((hit) => hit.startsWith("[session "))
    .map((hit) => {
      const end = hit.indexOf("\n");
      return { head: hit.slice(0, end), text: hit.slice(end + 1).trim() };
    });
}

// Questions to the responder, and what it answered, are no finds.
function isOurs(text: string): boolean {
  return [RECALL, SEARCH, ANSWER].some((pattern) => pattern.test(text));
}

function mentions(line: string, topic: string): boolean {
  const { words, runs } = parseQuery(topic);
  const text = line.toLowerCase();
  return [...words, ...runs].some((word) => text.includes(word.toLowerCase().slice(0, Math.max(4, word.length - 2))));
}

function isError(result: string): boolean {
  return result.startsWith("Error:");
}
