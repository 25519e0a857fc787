import type { SessionMessagePart } from "@stemma/model";
import { isToolPart, type ToolCallPart, toolNameOf, withoutToolTimes } from "@stemma/model";
import type { UIMessage, UIMessageChunk } from "ai";

/** The chunks that make a stored message in a client that has nothing of it; without the frame of `start` and `finish`. */
export function replay(message: UIMessage): UIMessageChunk[] {
  const chunks = message.parts.flatMap((part, index) => chunksOf(part as SessionMessagePart, `part-${index}`));
  // Pieces that come later belong to new parts.
  return chunks.length === 0 ? [] : [...chunks, { type: "finish-step" }];
}

export function replayed(message: UIMessage): ReadableStream<UIMessageChunk> {
  const { id, metadata } = withoutToolTimes(message);
  const start: UIMessageChunk = {
    type: "start",
    messageId: id,
    ...(metadata === undefined ? {} : { messageMetadata: metadata }),
  };
  return streamOf([start, ...replay(message), { type: "finish" }]);
}

export function streamOf<T>(chunks: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

function chunksOf(part: SessionMessagePart, id: string): UIMessageChunk[] {
  if (part.type === "text" || part.type === "reasoning") return textChunks(part, part.type, id);
  if (part.type === "step-start") return [{ type: "start-step" }];
  if (isToolPart(part)) return toolChunks(part);
  // Files, sources and data are chunks of the same form.
  return [part as unknown as UIMessageChunk];
}

function textChunks(part: SessionMessagePart, type: "text" | "reasoning", id: string): UIMessageChunk[] {
  const given = defined({ providerMetadata: part.providerMetadata });
  return [
    { type: `${type}-start`, id, ...given },
    { type: `${type}-delta`, id, delta: part.text ?? "" },
    { type: `${type}-end`, id, ...given },
  ] as UIMessageChunk[];
}

function toolChunks(part: ToolCallPart): UIMessageChunk[] {
  const { toolCallId, state, input, output, errorText, rawInput, preliminary } = part;
  const call = defined({
    toolCallId,
    dynamic: part.type === "dynamic-tool" ? true : undefined,
    providerExecuted: part.providerExecuted,
    toolMetadata: part.toolMetadata,
  });
  const named = {
    ...call,
    ...defined({ toolName: toolNameOf(part), title: part.title, providerMetadata: part.callProviderMetadata }),
  };
  const result = { ...call, ...defined({ providerMetadata: part.resultProviderMetadata, preliminary }) };
  const approval = part.approval as { id: string } | undefined;
  const chunks: unknown[] = [{ type: "tool-input-available", ...named, input: input ?? null }];
  if (state === "output-error" && input === undefined) {
    return [
      { type: "tool-input-error", ...named, input: rawInput ?? null, errorText: errorText ?? "" },
    ] as UIMessageChunk[];
  }
  if (approval !== undefined) chunks.push({ type: "tool-approval-request", approvalId: approval.id, toolCallId });
  if (state === "output-available") chunks.push({ type: "tool-output-available", ...result, output: output ?? null });
  if (state === "output-error") chunks.push({ type: "tool-output-error", ...call, errorText: errorText ?? "" });
  if (state === "output-denied") chunks.push({ type: "tool-output-denied", toolCallId });
  return chunks as UIMessageChunk[];
}

// The protocol takes no field that is undefined.
function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
