import type { UIMessageChunk } from "ai";
import type { ToolClock } from "../../model/tool-times.js";

/** The chunks as they are; the clock is told of each call and of each result. */
export function timed(chunks: ReadableStream<UIMessageChunk>, clock: ToolClock): ReadableStream<UIMessageChunk> {
  const watch = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      if (chunk.type === "tool-input-available") clock.called(chunk.toolCallId);
      else if (isResult(chunk)) clock.answered(chunk.toolCallId);
      controller.enqueue(chunk);
    },
  });
  return chunks.pipeThrough(watch);
}

function isResult(chunk: UIMessageChunk): chunk is UIMessageChunk & { readonly toolCallId: string } {
  if (chunk.type === "tool-output-available") return chunk.preliminary !== true;
  return chunk.type === "tool-output-error" || chunk.type === "tool-output-denied";
}
