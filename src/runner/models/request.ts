import type { ModelMessage, UIMessage } from "ai";
import { repairInTurns } from "../../ai-sdk/lint/lint.js";
import { modelMessages } from "../../ai-sdk/message/model-messages.js";
import type { SessionMessage } from "../../model/message.js";
import { isInterrupted, isToolPart } from "../../model/tool-calls.js";
import type { AgentTools } from "../tools/agent-tools.js";
import type { ContentBlock } from "../types.js";
import { loadAiSdk } from "./ai-sdk.js";
import type { ModelObject } from "./model.js";

/**
 * The history as a model is to see it: nothing in it that its provider refuses, whatever an aborted turn, an import or
 * another provider's model has left there.
 */
export async function requestOf(
  history: readonly SessionMessage[],
  tools: AgentTools,
  model: ModelObject,
): Promise<ModelMessage[]> {
  const { convertToModelMessages } = await loadAiSdk();
  const shown = history.map((message, index) => withoutTail(message, history[index + 1]));
  const known = withBlockOutputs(tools);
  const accepted = await repairInTurns(shown, model, { tools: known });
  return modelMessages(convertToModelMessages, accepted as UIMessage[], { tools: known as never });
}

/** What was cut off and then said anew, or is about to be, is not shown twice. */
function withoutTail(message: SessionMessage, next: SessionMessage | undefined): SessionMessage {
  if (!isInterrupted(message) || next?.role === "user") return message;
  return { ...message, parts: message.parts.slice(0, message.parts.findLastIndex(isToolPart) + 1) };
}

/** Tools that the host answers: a result in blocks is shown as its texts and images. Others say themselves how. */
function withBlockOutputs(tools: AgentTools): Record<string, object> {
  const answered = Object.entries(tools).map(([name, tool]) =>
    tool.execute === undefined ? ([name, { toModelOutput, ...tool }] as const) : ([name, tool] as const),
  );
  return Object.fromEntries(answered);
}

function toModelOutput({ output }: { output: unknown }): object {
  if (typeof output === "string") return { type: "text", value: output };
  if (Array.isArray(output) && output.length > 0 && output.every(isTextOrImage)) {
    return { type: "content", value: output.map(contentOf) };
  }
  return { type: "json", value: output };
}

type TextOrImage = Extract<ContentBlock, { type: "text" | "image" }>;

function isTextOrImage(block: unknown): block is TextOrImage {
  const { type } = (block ?? {}) as { type?: unknown };
  return type === "text" || type === "image";
}

function contentOf(block: TextOrImage): object {
  if (block.type === "text") return { type: "text", text: block.text };
  const { source } = block;
  if (source.type === "url") return { type: "image-url", url: source.url };
  return { type: "image-data", data: source.data, mediaType: source.media_type };
}
