import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

export type Chunk = LanguageModelV3StreamPart;

export function usage(input: number, output: number, cached: { read?: number; write?: number } = {}) {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cached.read, cacheWrite: cached.write },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  };
}

const stop: Chunk = { type: "finish", usage: usage(10, 5), finishReason: { unified: "stop", raw: "stop" } };

/** The chunks of a text, in two pieces, without an end. */
export function text(content: string): Chunk[] {
  const half = Math.ceil(content.length / 2);
  return [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: content.slice(0, half) },
    { type: "text-delta", id: "t", delta: content.slice(half) },
    { type: "text-end", id: "t" },
  ];
}

/** A step that says something. */
export function says(content: string): Chunk[] {
  return [...text(content), stop];
}

/** A step that calls tools, all at once. */
export function calls(...list: [id: string, name: string, input: unknown][]): Chunk[] {
  return [
    ...list.map(([toolCallId, toolName, input]): Chunk => {
      return {
        type: "tool-call",
        toolCallId,
        toolName,
        input: typeof input === "string" ? input : JSON.stringify(input),
      };
    }),
    { type: "finish", usage: usage(10, 5), finishReason: { unified: "tool-calls", raw: "tool_calls" } },
  ];
}

type Step = Chunk[] | Error | ((options: LanguageModelV3CallOptions) => ReadableStream<Chunk>);

/** A model that answers with one step after the other, and fails when it has none left. */
export function scripted(...steps: Step[]): MockLanguageModelV3 {
  let next = 0;
  return new MockLanguageModelV3({
    doStream: async (options) => {
      const step = steps[next++];
      if (step === undefined) throw new RangeError("The script is over.");
      if (step instanceof Error) throw step;
      if (typeof step === "function") return { stream: step(options) };
      return { stream: simulateReadableStream({ chunks: step, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}

/** A step that begins, and then waits until the request is aborted. */
export function hangs(...chunks: Chunk[]): Step {
  return ({ abortSignal }) =>
    new ReadableStream<Chunk>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
      },
    });
}

export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
}
