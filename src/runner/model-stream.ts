import type { TextStreamPart, ToolSet } from "ai";
import { StemmaError } from "../errors.js";
import { unlessAborted } from "../unless-aborted.js";
import { errorText } from "./error-text.js";
import type { AgentEvent, StopReason } from "./types.js";

/** What a consumer is told of a chunk; null for nothing. */
export function eventOf(chunk: TextStreamPart<ToolSet>): AgentEvent | null {
  switch (chunk.type) {
    case "text-delta":
      return chunk.text === "" ? null : { type: "text", text: chunk.text };
    case "tool-call":
      return { type: "tool_use", id: chunk.toolCallId, name: chunk.toolName, input: chunk.input };
    case "tool-result":
      if (chunk.preliminary === true) return null;
      return { type: "tool_result", tool_use_id: chunk.toolCallId, content: textOf(chunk.output) };
    case "tool-error":
      return { type: "tool_result", tool_use_id: chunk.toolCallId, content: errorText(chunk.error), is_error: true };
    default:
      return null;
  }
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "null");
}

type FinishStep = Extract<TextStreamPart<ToolSet>, { type: "finish-step" }>;

/** What a step failed with; null for one that did not. */
export function failureOf({ finishReason, rawFinishReason }: FinishStep): StemmaError | null {
  // A connection that closes early looks like an end without a reason.
  if (finishReason === "other" && rawFinishReason === undefined) {
    return new StemmaError("MODEL_FAILED", {}, "The model's answer broke off before it was complete.");
  }
  if (finishReason !== "error") return null;
  const why = rawFinishReason === undefined ? "" : `: ${rawFinishReason}`;
  return new StemmaError("MODEL_FAILED", {}, `The model's provider ended the answer with an error${why}.`);
}

/** Why a turn ends with this step; `pending` says that calls wait for results. */
export function stopReason(finish: FinishStep["finishReason"], pending: boolean, last: boolean): StopReason {
  if (finish === "length") return "max_tokens";
  if (finish === "content-filter") return "refusal";
  if (pending) return "tool_use";
  return finish === "tool-calls" && last ? "max_turns" : "end_turn";
}

/** A failure of a model as an error. */
export function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  return new StemmaError("MODEL_FAILED", {}, `The model failed: ${errorText(error)}`, { cause: error });
}

/** The chunks of a stream until the signal is aborted; a stream that fails, or cannot be had, ends with an `error` chunk. */
export async function* chunksOf<T>(
  open: () => ReadableStream<T>,
  signal: AbortSignal,
): AsyncGenerator<T | { type: "error"; error: unknown }> {
  let reader: ReadableStreamDefaultReader<T> | null = null;
  try {
    reader = open().getReader();
    for (;;) {
      // A tool that does not heed the signal must not hold up the end of the turn.
      const next = await unlessAborted(reader.read(), signal);
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    if (!signal.aborted) yield { type: "error", error };
  } finally {
    // The failure was reported already, or nobody waits for it any more.
    reader?.cancel().catch(() => {});
  }
}
