import * as testing from "ai/test";
import { patience } from "../helpers/patience.js";

const { simulateReadableStream } = testing;
// Version 7 of the AI SDK has models of version 4, which take the same chunks.
const MockLanguageModel = (
  "MockLanguageModelV4" in testing ? testing.MockLanguageModelV4 : testing.MockLanguageModelV3
) as typeof testing.MockLanguageModelV3;

/** What a scripted model says in one step. */
export type Say =
  | string
  | { readonly call: string; readonly input?: unknown; readonly id?: string }
  | { readonly fail: string; readonly after?: string }
  // The pause between two words, in ms, is longer on a busy machine, whose tests need longer to meet an answer in its middle.
  // Where it is deaf, it goes on though it was told to end.
  | { readonly slow: string; readonly pause: number; readonly isDeaf?: boolean };

type Call = Parameters<InstanceType<typeof MockLanguageModel>["doStream"]>[0];
export type Prompt = Call["prompt"];

let calls = 0;
let prefix = "";

/** A model that says what `script` gives for each prompt. `prompts` holds what it was asked with. Ids begin with `ids`. */
export function scriptedModel(script: (prompt: Prompt, call: Call) => Say | readonly Say[], ids = "") {
  prefix = ids;
  const prompts: Prompt[] = [];
  const model = new MockLanguageModel({
    doStream: async (call) => {
      if (ids === "") prompts.push(call.prompt);
      const said = script(call.prompt, call);
      const all = (Array.isArray(said) ? said : [said]) as readonly Say[];
      const pause = all.reduce(
        (most, say) => Math.max(most, typeof say === "object" && "slow" in say ? say.pause : 0),
        0,
      );
      const chunks = [{ type: "stream-start" as const, warnings: [] }, ...all.flatMap(chunksOf), endOf(all)];
      return {
        stream: untilAborted(
          simulateReadableStream({ chunks, chunkDelayInMs: patience(pause) || null, initialDelayInMs: null }),
          all.some((say) => typeof say === "object" && "slow" in say && say.isDeaf) ? undefined : call.abortSignal,
        ),
      };
    },
  });
  return { model, prompts };
}

// As a provider's own stream does.
function untilAborted<T>(stream: ReadableStream<T>, signal: AbortSignal | undefined): ReadableStream<T> {
  const broken = new TransformStream<T, T>({
    start(controller) {
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return stream.pipeThrough(broken);
}

// biome-ignore lint/suspicious/noExplicitAny: chunks of a provider, by their name
function chunksOf(say: Say): any[] {
  if (typeof say === "string") return textChunks([say]);
  if ("slow" in say) return textChunks(say.slow.split(/(?<= )/));
  if ("fail" in say) {
    return [...textChunks(say.after === undefined ? [] : [say.after]), { type: "error", error: new Error(say.fail) }];
  }
  calls += 1;
  const input = JSON.stringify(say.input ?? {});
  return [{ type: "tool-call", toolCallId: say.id ?? `${prefix}call-${calls}`, toolName: say.call, input }];
}

function textChunks(pieces: readonly string[]): unknown[] {
  if (pieces.length === 0) return [];
  calls += 1;
  const id = `text-${calls}`;
  return [
    { type: "text-start", id },
    ...pieces.map((delta) => ({ type: "text-delta", id, delta })),
    { type: "text-end", id },
  ];
}

// biome-ignore lint/suspicious/noExplicitAny: a chunk of a provider
function endOf(said: readonly Say[]): any {
  const isCall = said.some((say) => typeof say === "object" && "call" in say);
  return {
    type: "finish",
    finishReason: { unified: isCall ? "tool-calls" : "stop", raw: "" },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    },
  };
}

/** The last text of the user in a prompt. */
export function lastUserText(prompt: Prompt): string {
  const last = prompt.findLast(({ role }) => role === "user");
  const parts = (last?.content ?? []) as { type: string; text?: string }[];
  return parts.findLast(({ type }) => type === "text")?.text ?? "";
}

/** True when the prompt ends with results of tools. */
export function endsWithResults(prompt: Prompt): boolean {
  return prompt.at(-1)?.role === "tool";
}
