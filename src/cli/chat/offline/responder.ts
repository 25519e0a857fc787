import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Text,
  LanguageModelV3ToolCall,
} from "@ai-sdk/provider";
import { streamOf } from "../../../ai-sdk/message/replay.js";
import { memoryOf, questionOf, resultOf } from "./prompt.js";
import { HELP, ruleFor } from "./rules.js";

/** What the responder does next: say something, or call a tool. */
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
