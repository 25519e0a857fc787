import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

type Chunk = LanguageModelV3StreamPart;

const usage = (input: number, output: number) => ({
  inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: undefined, reasoning: undefined },
});

/** A step that says `text`, in two pieces. */
export function says(text: string): Chunk[] {
  const half = Math.ceil(text.length / 2);
  return [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: text.slice(0, half) },
    { type: "text-delta", id: "t", delta: text.slice(half) },
    { type: "text-end", id: "t" },
    { type: "finish", usage: usage(10, 5), finishReason: { unified: "stop", raw: "stop" } },
  ];
}

/** A step that calls tools, all at once. */
export function calls(...list: [id: string, name: string, input: unknown][]): Chunk[] {
  return [
    ...list.map(([toolCallId, toolName, input]): Chunk => {
      return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
    }),
    { type: "finish", usage: usage(10, 5), finishReason: { unified: "tool-calls", raw: "tool_calls" } },
  ];
}

/** A model that answers with one step after the other, and fails when it has none left. */
export function scripted(...steps: (Chunk[] | Error)[]): MockLanguageModelV3 {
  let next = 0;
  return new MockLanguageModelV3({
    doStream: async () => {
      const step = steps[next++];
      if (step === undefined) throw new Error("The script is over.");
      if (step instanceof Error) throw step;
      return { stream: simulateReadableStream({ chunks: step, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}

export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
}
