import type { SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, isTooDeep, type JsonObject } from "@stemma/model";
import { TOO_DEEP } from "../../stemma/session-file.js";
import { outputOfText } from "../openai/openai-content.js";

type Part = SessionMessagePart & JsonObject;

/** The type of a part that holds content as it stood in the file: no model is shown it. */
export const RAW = "data-codex";

export function partsOfContent(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (content === null) return [];
  return Array.isArray(content) ? content.map(partOfBlock) : [rawPart(content)];
}

/** An action of the model as a part of its message: it thought, or called a tool. Null for an item that is neither. */
export function partOfItem(item: JsonObject): Part | null {
  const { type, name } = item;
  const callId = callIdOf(item);
  switch (type) {
    case "reasoning":
      return reasoningOf(item);
    case "function_call":
      return typeof name === "string" ? callOf(item, name, argumentsOf(item.arguments), callId) : rawPart(item);
    case "custom_tool_call":
      return typeof name === "string" ? callOf(item, name, item.input, callId) : rawPart(item);
    case "local_shell_call":
      return callOf(item, "local_shell", item.action, callId ?? item.id);
    case "tool_search_call":
      return callOf(item, "tool_search", argumentsOf(item.arguments), callId);
    case "web_search_call": {
      const call = callOf(item, "web_search", item.action, item.id ?? callId);
      return { ...call, providerExecuted: true, state: "output-available", output: item.status ?? null };
    }
    default:
      return typeof type === "string" && type.endsWith("_call")
        ? otherCall(item, type.slice(0, -"_call".length))
        : null;
  }
}

// A tool that the provider runs: its item has the result too.
function otherCall(item: JsonObject, tool: string): Part {
  const { name, id, arguments: args, action, input, code, queries } = item;
  const call = callOf(
    item,
    typeof name === "string" ? name : tool,
    argumentsOf(args) ?? action ?? input ?? code ?? queries,
    callIdOf(item) ?? id,
  );
  const output = item.output ?? item.outputs ?? item.results ?? item.result;
  if (typeof item.error === "string") return { ...call, state: "output-error", errorText: item.error };
  return output === undefined || output === null ? call : { ...call, state: "output-available", output };
}

export function isOutput(item: JsonObject): boolean {
  return typeof item.type === "string" && /_(output|result)$/.test(item.type) && typeof callIdOf(item) === "string";
}

/** The id of the call that an item makes, or has the result of; the Agents SDK writes it its own way. */
export function callIdOf({ call_id, callId }: JsonObject): unknown {
  return call_id ?? callId;
}

/** The fields that a tool part gets from the item with its result. */
export function fieldsOfOutput(item: JsonObject): JsonObject {
  const { output } = item;
  // An older form says beside the text whether the call went well.
  const content = isJsonObject(output) ? contentOf(output) : (output ?? item.tools ?? null);
  const failed = isJsonObject(output) && output.success === false && typeof content === "string";
  if (failed) return { state: "output-error", errorText: content };
  return { state: "output-available", output: outputOfText(content) ?? null };
}

function partOfBlock(block: unknown): Part {
  if (typeof block === "string") return { type: "text", text: block };
  if (!isJsonObject(block)) return rawPart(block);
  const { type, text, image_url: url } = block;
  if ((type === "input_text" || type === "output_text" || type === "text") && typeof text === "string")
    return { type: "text", text };
  if (type === "refusal" && typeof block.refusal === "string") return { type: "text", text: block.refusal };
  if (type === "input_file" && (typeof block.file_data === "string" || typeof block.file_url === "string"))
    return fileOf(String(block.file_data ?? block.file_url), block.filename);
  if (type === "input_image" && typeof url === "string")
    return { type: "file", mediaType: /^data:([\w.+-]+\/[\w.+-]+)/.exec(url)?.[1] ?? "image/*", url };
  return rawPart(block);
}

function fileOf(url: string, filename: unknown): Part {
  const mediaType = /^data:([\w.+-]+\/[\w.+-]+)/.exec(url)?.[1] ?? "application/octet-stream";
  return { type: "file", mediaType, url, ...(typeof filename === "string" ? { filename } : {}) };
}

function reasoningOf(item: JsonObject): Part {
  const { summary, content, encrypted_content: encrypted } = item;
  if (!Array.isArray(summary) && !Array.isArray(content) && typeof encrypted !== "string") return rawPart(item);
  const blocks: unknown[] = [summary, content].flatMap((list) => (Array.isArray(list) ? list : []));
  const texts = blocks.map((block) =>
    isJsonObject(block) && typeof block.text === "string" ? block.text : JSON.stringify(block),
  );
  const part: Part = { type: "reasoning", text: texts.join("\n\n") };
  if (typeof encrypted !== "string") return part;
  return { ...part, providerMetadata: { openai: { reasoningEncryptedContent: encrypted } } };
}

function contentOf(output: JsonObject): unknown {
  if ("content" in output) return output.content;
  // The Agents SDK's form of one text.
  return output.type === "text" && typeof output.text === "string" ? output.text : output;
}

function rawPart(data: unknown): Part {
  return { type: RAW, data };
}

function callOf(item: JsonObject, toolName: string, input: unknown, callId: unknown): Part {
  return {
    type: "dynamic-tool",
    toolName,
    toolCallId: typeof callId === "string" ? callId : `${item.type}`,
    state: "input-available",
    input: input ?? {},
  };
}

function argumentsOf(text: unknown): unknown {
  return typeof text === "string" ? (findJson(text) ?? text) : text;
}

export interface RolloutLine {
  type: string;
  payload: JsonObject;
  line: JsonObject;
}

/** Reads a line, or gives why it cannot be. */
export function parseLine(value: unknown): RolloutLine | string {
  if (isTooDeep(value)) return TOO_DEEP;
  return (isJsonObject(value) ? findLine(value) : null) ?? "neither an item nor an event";
}

/** A line in the form that all versions have in common; null for what is none. */
export function findLine(line: JsonObject): RolloutLine | null {
  const { type, payload, id, timestamp } = line;
  if (typeof type === "string" && isJsonObject(payload)) return { type, payload, line };
  // The first versions wrote items as they are, behind a line with the session's id.
  const isItem = typeof type === "string" ? type !== "session" : typeof line.role === "string";
  if (isItem) return { type: "response_item", payload: line, line };
  if (line.record_type !== undefined) return { type: String(line.record_type), payload: line, line };
  const isMeta = type === undefined && typeof id === "string" && typeof timestamp === "string";
  return isMeta && "instructions" in line ? { type: "session_meta", payload: line, line } : null;
}
