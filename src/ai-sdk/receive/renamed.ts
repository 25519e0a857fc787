import type { UIMessage, UIMessageChunk } from "ai";
import { isToolPart } from "../../model/tool-calls.js";

/** The ids that approved calls have in the tree, by those that they have in a request: a provider may not take the first. */
export type RenamedCalls = ReadonlyMap<string, string>;

/** What became of the ids of the approved calls of a message. */
export function renamedCalls(stored: UIMessage | null, sent: UIMessage | undefined): RenamedCalls {
  const [before, after] = [approvedCalls(stored), approvedCalls(sent)];
  const pairs = after.map((id, index) => [id, before[index] ?? id] as const);
  return new Map(pairs.filter(([id, original]) => id !== original));
}

/** The chunks with the ids that the calls have in the tree. */
export function withStoredIds(
  chunks: ReadableStream<UIMessageChunk>,
  renamed: RenamedCalls,
): ReadableStream<UIMessageChunk> {
  if (renamed.size === 0) return chunks;
  const restore = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      const original = "toolCallId" in chunk ? renamed.get(chunk.toolCallId) : undefined;
      controller.enqueue(original === undefined ? chunk : ({ ...chunk, toolCallId: original } as UIMessageChunk));
    },
  });
  return chunks.pipeThrough(restore);
}

function approvedCalls(message: UIMessage | null | undefined): string[] {
  return (message?.parts ?? []).flatMap((part) => {
    return isToolPart(part) && part.state === "approval-responded" ? [part.toolCallId] : [];
  });
}
