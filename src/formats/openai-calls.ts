import { findJson, isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessagePart } from "../model/message.js";

/** The calls that a chat message of OpenAI's makes, as parts; what is no call is kept as it stands. */
export function callsOf(source: JsonObject): SessionMessagePart[] {
  if (Array.isArray(source.tool_calls)) return source.tool_calls.map(partOfCall);
  // The form that came before tool_calls.
  return isJsonObject(source.function_call) ? [partOfCall({ function: source.function_call })] : [];
}

function partOfCall(call: unknown): SessionMessagePart {
  if (!isJsonObject(call)) return { type: "data-openai", data: call };
  const called = isJsonObject(call.function) ? call.function : isJsonObject(call.custom) ? call.custom : {};
  const toolName = String(called.name ?? "unknown");
  const text = String(called.arguments ?? called.input ?? "");
  return {
    type: "dynamic-tool",
    toolName,
    toolCallId: typeof call.id === "string" ? call.id : functionId(toolName),
    state: "input-available",
    input: findJson(text) ?? text,
  };
}

/** The id of a call that has none: there is one at a time. */
export function functionId(name: string): string {
  return `function:${name}`;
}

/** What a model thought, where a provider puts it beside the content of a chat message. */
export function reasoningOf({ reasoning_content, reasoning }: JsonObject): SessionMessagePart[] {
  const text = reasoning_content ?? reasoning;
  return typeof text === "string" && text !== "" ? [{ type: "reasoning", text }] : [];
}
