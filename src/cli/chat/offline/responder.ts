import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { memoryOf, questionOf, resultOf } from "./prompt.js";
import { HELP, ruleFor } from "./rules.js";

/** What the responder does next: say something, or call a tool. */
type Move = { say: string } | { call: string; input: unknown };

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
    async doStream(options) {
      const parts = respond(options);
      const stream = new ReadableStream<LanguageModelV3StreamPart>({
        pull(controller) {
          const part = parts.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(part);
        },
      });
      return { stream };
    },
    async doGenerate(options) {
      const move = nextMove(options);
      const finish = { usage: NO_TOKENS, warnings: [] };
      if ("say" in move) {
        const content = [{ type: "text" as const, text: move.say }];
        return { content, finishReason: { unified: "stop", raw: "stop" }, ...finish };
      }
      const call = { type: "tool-call" as const, toolCallId: crypto.randomUUID(), toolName: move.call };
      const content = [{ ...call, input: JSON.stringify(move.input) }];
      return { content, finishReason: { unified: "tool-calls", raw: "tool-calls" }, ...finish };
    },
  };
}

const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function respond(options: LanguageModelV3CallOptions): LanguageModelV3StreamPart[] {
  const move = nextMove(options);
  const start: LanguageModelV3StreamPart = { type: "stream-start", warnings: [] };
  if ("call" in move) {
    const call = { toolCallId: crypto.randomUUID(), toolName: move.call, input: JSON.stringify(move.input) };
    return [start, { type: "tool-call", ...call }, finish("tool-calls")];
  }
  const words = move.say.split(/(?<=\s)/).map((delta): LanguageModelV3StreamPart => {
    return { type: "text-delta", id: "0", delta };
  });
  return [start, { type: "text-start", id: "0" }, ...words, { type: "text-end", id: "0" }, finish("stop")];
}

function finish(reason: "stop" | "tool-calls"): LanguageModelV3StreamPart {
  return { type: "finish", usage: NO_TOKENS, finishReason: { unified: reason, raw: reason } };
}

function nextMove(options: LanguageModelV3CallOptions): Move {
  const rule = ruleFor(questionOf(options));
  if (rule === null) return { say: HELP };
  const memory = memoryOf(options);
  const result = resultOf(options);
  if (result !== null) return { say: rule.answer(result, memory) };
  const call = rule.call(memory);
  if (call === null) return { say: rule.answer("", memory) };
  if (!(options.tools ?? []).some((tool) => tool.name === call.call)) {
    return { say: `This session has no tool ${call.call}, which I would need for that.` };
  }
  return call;
}
