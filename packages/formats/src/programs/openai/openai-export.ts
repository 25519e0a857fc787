import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, mapped, type Pieces, readToolPart, type ToolPart } from "@stemma/model";
import { findOrigin, inFileOrder, type OriginEntry, type Placed } from "../../origin.js";
import { splitSteps } from "../../steps.js";
import { contentOfParts, textOfOutput } from "./openai-content.js";

/**
 * A path of messages as OpenAI chat messages: those that came from such a file as they were, others as their parts say.
 * Of the latter, reasoning, sources and data parts have no place in the format and are left out.
 */
export function* toOpenai(messages: readonly SessionMessage[]): Pieces<JsonObject> {
  const placed = yield* mapped(messages, placedOf);
  const { record, key } = recordOf(messages[0]);
  return { ...record, [key]: yield* inFileOrder(placed.flat()) };
}

function placedOf(message: SessionMessage): Placed<JsonObject>[] {
  const entries = findOrigin(message, "openai");
  if (entries === null) return stepsOf(message).map((source) => ({ n: null, source }));
  return entries.map((entry) => ({ n: entry.n, source: rebuild(entry, message) }));
}

/** An OpenAI message from what was kept of it and from the parts of ours. */
export function rebuildMessage(rest: JsonObject, parts: readonly SessionMessagePart[]): JsonObject {
  const content = contentOfParts(parts);
  const tools = parts.flatMap((part) => readToolPart(part) ?? []);
  const calls = tools.filter(({ kind }) => kind !== "result").map(callOf);
  return {
    ...rest,
    ...(content === null ? {} : { content }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** A tool's message from what was kept of it and from the part that holds its result. */
export function rebuildResult(rest: JsonObject, part: SessionMessagePart | undefined): JsonObject {
  const tool = part === undefined ? null : readToolPart(part);
  return { ...rest, content: tool === null ? null : resultOf(tool) };
}

function rebuild({ rest, whole, part }: OriginEntry, message: SessionMessage): JsonObject {
  if (rest === undefined) return whole ?? {};
  return part === undefined ? rebuildMessage(rest, message.parts) : rebuildResult(rest, message.parts[part]);
}

function recordOf(first: SessionMessage | undefined): { record: JsonObject; key: string } {
  const metadata = first === undefined || !isJsonObject(first.metadata) ? {} : first.metadata;
  const { record, key } = isJsonObject(metadata.openai) ? metadata.openai : {};
  return { record: isJsonObject(record) ? record : {}, key: typeof key === "string" ? key : "messages" };
}

function stepsOf(message: SessionMessage): JsonObject[] {
  const steps = splitSteps(message.parts, (part) => contentOfParts([part]) !== null);
  return (steps.length === 0 ? [[]] : steps).flatMap((step) => {
    const tools = step.flatMap((part) => readToolPart(part) ?? []);
    // A result that stands apart from its call belongs behind what came before.
    const apart = tools.filter(({ kind }) => kind === "result");
    const own = rebuildMessage({ role: message.role, content: null }, step);
    const isEmpty = apart.length > 0 && own.content === null && own.tool_calls === undefined;
    const results = tools.filter(({ kind }) => kind === "both");
    return [...apart.map(toolMessage), ...(isEmpty ? [] : [own]), ...results.map(toolMessage)];
  });
}

function toolMessage(tool: ToolPart): JsonObject {
  return { role: "tool", tool_call_id: tool.toolCallId, content: resultOf(tool) };
}

function callOf({ toolCallId, toolName, input }: ToolPart): JsonObject {
  const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
  return { id: toolCallId, type: "function", function: { name: toolName, arguments: text } };
}

function resultOf({ output, errorText }: ToolPart): unknown {
  return errorText ?? (Array.isArray(output) && output.every(isContentBlock) ? output : textOfOutput(output));
}

function isContentBlock(value: unknown): boolean {
  return isJsonObject(value) && value.type === "text" && typeof value.text === "string";
}
