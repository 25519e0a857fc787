import { outputOfText, textOfOutput } from "../../formats/openai-content.js";
import { findJson, isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessagePart } from "../../model/message.js";
import { INTERRUPTED } from "../../model/tool-calls.js";
import type { ToolPair } from "../tool-pairs.js";

/** The items that call a tool, each with the tool's name and its input. */
const CALLS: Readonly<Record<string, (item: JsonObject) => { toolName: string; input: unknown }>> = {
  function_call: ({ name, arguments: text }) => ({ toolName: String(name), input: jsonOf(text) }),
  computer_call: ({ action, actions }) => ({ toolName: "computer", input: actions ?? action }),
  shell_call: ({ action }) => ({ toolName: "shell", input: action }),
  apply_patch_call: ({ operation }) => ({ toolName: "apply_patch", input: operation }),
  program: ({ code }) => ({ toolName: "program", input: { code } }),
};

const RESULTS: ReadonlySet<unknown> = new Set([
  "function_call_result",
  "computer_call_result",
  "shell_call_output",
  "apply_patch_call_output",
  "program_output",
]);

/** The id of the call that an item is; null for any other item. */
export function callIdOf({ type, callId }: JsonObject): string | null {
  return Object.hasOwn(CALLS, String(type)) && typeof callId === "string" ? callId : null;
}

/** The id of the call that an item is the result of; null for any other item. */
export function answeredIdOf({ type, callId }: JsonObject): string | null {
  return RESULTS.has(type) && typeof callId === "string" ? callId : null;
}

/** A call as a part, with its result if there is one. */
export function callPart(call: JsonObject, result: JsonObject | undefined): SessionMessagePart {
  const { toolName, input } = (CALLS[String(call.type)] as (typeof CALLS)[string])(call);
  const part = { type: "dynamic-tool", toolName, toolCallId: String(call.callId), input };
  if (result === undefined) return { ...part, state: "input-available" };
  return { ...part, state: "output-available", output: outputOfItem(result) };
}

/** A tool that the model's provider ran. */
export function hostedPart({ id, name, arguments: text, output }: JsonObject, index: number): SessionMessagePart {
  return {
    type: "dynamic-tool",
    toolName: String(name),
    toolCallId: typeof id === "string" ? id : `hosted_${index}`,
    state: "output-available",
    providerExecuted: true,
    input: text === undefined ? {} : jsonOf(text),
    output: output ?? null,
  };
}

/** A result whose call stands in another message. */
export function loosePart(result: JsonObject): SessionMessagePart {
  const { name, callId } = result;
  return { type: "tool-result", toolName: String(name), toolCallId: String(callId), output: outputOfItem(result) };
}

export function callItem({ call: { toolCallId, toolName, input } }: ToolPair): JsonObject {
  const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
  return { type: "function_call", callId: toolCallId, name: toolName ?? "tool", status: "completed", arguments: text };
}

/** The result of a call; of one that has none, a text that says so. */
export function resultItem({ call: { toolCallId, toolName }, result }: ToolPair): JsonObject {
  const text = result === null ? INTERRUPTED : (result.errorText ?? textOfOutput(result.output));
  const output = { type: "text", text };
  const status = result === null ? "incomplete" : "completed";
  return { type: "function_call_result", name: toolName ?? "tool", callId: toolCallId, status, output };
}

function outputOfItem({ output }: JsonObject): unknown {
  const isText = isJsonObject(output) && output.type === "text" && Object.keys(output).length === 2;
  const value = isText ? output.text : output;
  return outputOfText(value) ?? null;
}

function jsonOf(text: unknown): unknown {
  return typeof text === "string" ? (findJson(text) ?? text) : text;
}
