import type { LanguageModelV3, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import type { Session } from "stemma";
import { type Facts, type Move, nextMove } from "./moves";

export type { Facts };

/** Milliseconds between two words: about as fast as a model writes. */
const PACE = Number(process.env.OFFLINE_PACE || 25);

/**
 * Stands in for a model where none is configured: a few fixed rules, which use the memory's tools in the same loop as a model.
 * It says what it is.
 */
export function offlineModel(session: Session, facts: Facts): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "stemma",
    modelId: "offline-responder",
    supportedUrls: {},
    async doStream({ prompt, abortSignal }) {
      const parts = partsOf(await nextMove(session, facts, prompt));
      const stream = new ReadableStream<LanguageModelV3StreamPart>({
        async pull(controller) {
          const part = parts.shift();
          if (part === undefined) return controller.close();
          if (part.type === "text-delta") await new Promise((resolve) => setTimeout(resolve, PACE));
          if (abortSignal?.aborted) return controller.error(abortSignal.reason);
          controller.enqueue(part);
        },
      });
      return { stream };
    },
    async doGenerate() {
      throw new TypeError("The offline responder only streams.");
    },
  };
}

function partsOf(move: Move): LanguageModelV3StreamPart[] {
  const start: LanguageModelV3StreamPart = { type: "stream-start", warnings: [] };
  if ("call" in move) {
    const input = JSON.stringify(move.input);
    return [
      start,
      { type: "tool-call", toolCallId: crypto.randomUUID(), toolName: move.call, input },
      finish("tool-calls"),
    ];
  }
  const words = move.say.split(/(?<=\s)/u);
  return [
    start,
    { type: "text-start", id: "0" },
    ...words.map((delta): LanguageModelV3StreamPart => ({ type: "text-delta", id: "0", delta })),
    { type: "text-end", id: "0" },
    finish("stop"),
  ];
}

function finish(reason: "stop" | "tool-calls"): LanguageModelV3StreamPart {
  const usage = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  };
  return { type: "finish", usage, finishReason: { unified: reason, raw: reason } };
}
