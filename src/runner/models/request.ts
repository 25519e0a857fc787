import type { ModelMessage, UIMessage } from "ai";
import type { SessionMessage, SessionMessagePart } from "../../model/message.js";
import { isInterrupted, isToolPart, settleToolCalls, type ToolCallPart, toolNameOf } from "../../model/tool-calls.js";
import type { AgentTools } from "../tools/agent-tools.js";
import type { ContentBlock } from "../types.js";
import { loadAiSdk } from "./ai-sdk.js";

/** What a model can be shown; imported sessions may have messages of other roles. */
const ROLES: ReadonlySet<string> = new Set(["system", "user", "assistant"]);

/**
 * The history as a model is to see it: nothing in it that a provider refuses, whatever an aborted turn, an import or
 * another provider's model has left there.
 */
export async function requestOf(history: readonly SessionMessage[], tools: AgentTools): Promise<ModelMessage[]> {
  const { convertToModelMessages } = await loadAiSdk();
  const ids = new Set<string>();
  const shown = history
    .filter(({ role }) => ROLES.has(role))
    .map((message, index, all) => withoutTail(message, all[index + 1]))
    .map(settleToolCalls)
    .map((message) => ({ ...message, parts: message.parts.filter(isShown).map((part) => callOf(part, ids, tools)) }));
  const converted = await convertToModelMessages(shown as UIMessage[], { tools: withBlockOutputs(tools) as never });
  return converted.filter((message) => message.content.length > 0);
}

/** What was cut off and then said anew, or is about to be, is not shown twice. */
function withoutTail(message: SessionMessage, next: SessionMessage | undefined): SessionMessage {
  if (!isInterrupted(message) || next?.role === "user") return message;
  return { ...message, parts: message.parts.slice(0, message.parts.findLastIndex(isToolPart) + 1) };
}

// Providers refuse blank texts; what is called after a tool without being a call, the AI SDK would take for one.
function isShown(part: SessionMessagePart): boolean {
  if (part.type === "text") return typeof part.text === "string" && part.text.trim() !== "";
  return isToolPart(part) || !(part.type === "dynamic-tool" || part.type.startsWith("tool-"));
}

// Each id once, of letters that every provider takes; an object as the input.
function callOf(part: SessionMessagePart, ids: Set<string>, tools: AgentTools): SessionMessagePart {
  if (!isToolPart(part)) return part;
  const { approval: _approval, rawInput: _raw, ...call } = part as ToolCallPart & { approval?: unknown };
  const known = toolNameOf(part);
  const name = Object.hasOwn(tools, known) ? known : plain(known, "tool").slice(0, 64);
  const plainId = plain(part.toolCallId, "call");
  let toolCallId = part.providerExecuted ? part.toolCallId : plainId;
  for (let copy = 2; ids.has(toolCallId); copy += 1) toolCallId = `${plainId}_${copy}`;
  ids.add(toolCallId);
  const input = typeof part.input === "object" && part.input !== null && !Array.isArray(part.input) ? part.input : {};
  const named = part.type === "dynamic-tool" ? { toolName: name } : { type: `tool-${name}` };
  return { ...call, ...named, toolCallId, input } as SessionMessagePart;
}

function plain(text: string, empty: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_") || empty;
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
