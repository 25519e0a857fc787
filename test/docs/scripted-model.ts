import { MockLanguageModelV3 } from "ai/test";

const ANSWER = "Noted.";
const finishReason = { unified: "stop", raw: "stop" } as const;
const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};

/** Stands for a provider of the AI SDK where the docs' code is run: answers at once, always the same. */
export function anthropic(_model: string): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: async () => ({ content: [{ type: "text", text: ANSWER }], finishReason, usage, warnings: [] }),
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: ANSWER });
          controller.enqueue({ type: "text-end", id: "1" });
          controller.enqueue({ type: "finish", finishReason, usage });
          controller.close();
        },
      }),
    }),
  });
}
