import { outputOfText, splitSteps, textOfOutput } from "@stemma/formats";
import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import {
  findJson,
  fromBase64,
  INTERRUPTED,
  invalid,
  isJsonObject,
  type JsonObject,
  kindOf,
  type StemmaError,
  toBase64,
} from "@stemma/model";
import { type ItemCodec, type LooseResults, pairsOf, type ToolPair } from "../item-messages.js";

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
function answeredIdOf({ type, callId }: JsonObject): string | null {
  return RESULTS.has(type) && typeof callId === "string" ? callId : null;
}

/** A call as a part, with its result if there is one. */
function callPart(call: JsonObject, result: JsonObject | undefined): SessionMessagePart {
  const { toolName, input } = (CALLS[String(call.type)] as (typeof CALLS)[string])(call);
  const part = { type: "dynamic-tool", toolName, toolCallId: String(call.callId), input };
  if (result === undefined) return { ...part, state: "input-available" };
  return { ...part, state: "output-available", output: outputOfItem(result) };
}

/** A tool that the model's provider ran. */
function hostedPart({ id, name, arguments: text, output }: JsonObject, index: number): SessionMessagePart {
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
function loosePart(result: JsonObject): SessionMessagePart {
  const { name, callId } = result;
  return { type: "tool-result", toolName: String(name), toolCallId: String(callId), output: outputOfItem(result) };
}

function callItem({ call: { toolCallId, toolName, input } }: ToolPair): JsonObject {
  const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
  return { type: "function_call", callId: toolCallId, name: toolName ?? "tool", status: "completed", arguments: text };
}

/** The result of a call; of one that has none, a text that says so. */
function resultItem({ call: { toolCallId, toolName }, result }: ToolPair): JsonObject {
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

/**
 * The items of the OpenAI Agents SDK. Each message of a user or the system is one message; an answer's message holds what the
 * model put out at once, with the results of its calls.
 */
export const agentItems: ItemCodec = {
  name: "openaiAgents",
  roleOf: (item) => (item.role === "user" || item.role === "system" ? item.role : "assistant"),
  joins(items, item) {
    const isOutput = [...items.slice(0, 1), item].every((each) => agentItems.roleOf(each) === "assistant");
    return isOutput && (answeredIdOf(item) !== null || items.every((each) => answeredIdOf(each) === null));
  },
  answers: answeredIdOf,
  calls(item) {
    const id = callIdOf(item);
    return id === null ? [] : [id];
  },
  partsOf,
  itemsOf(message, loose) {
    const { role, parts } = message;
    if (role === "user") return userItems(message, loose);
    if (role === "system") return [{ type: "message", role, content: textOf(parts) }];
    const steps = splitSteps(parts, (part) => part.type === "text");
    return steps.flatMap((step) => stepItems(step, loose));
  },
};

function partsOf(items: readonly JsonObject[]): SessionMessagePart[] {
  const results = new Map(
    items.flatMap((item) => {
      const id = answeredIdOf(item);
      return id === null ? [] : [[id, item] as const];
    }),
  );
  const calls = new Set(items.map(callIdOf));
  return items.flatMap((item, index) => {
    const callId = callIdOf(item);
    if (callId !== null) return callPart(item, results.get(callId));
    const answered = answeredIdOf(item);
    if (answered !== null) return calls.has(answered) ? [] : loosePart(item);
    if (item.type === "hosted_tool_call") return hostedPart(item, index);
    if (item.type === "reasoning") return reasoningParts(item);
    return item.type === undefined || item.type === "message" ? partsOfContent(item.content) : [];
  });
}

function reasoningParts({ content, rawContent }: JsonObject): SessionMessagePart[] {
  const blocks = [content, rawContent].find((each) => Array.isArray(each) && each.length > 0);
  const texts = Array.isArray(blocks) ? blocks.filter(isJsonObject).map(({ text }) => text) : [];
  return texts.flatMap((text) => (typeof text === "string" ? { type: "reasoning", text } : []));
}

// Results of other formats may stand in a user's message.
function userItems({ parts }: SessionMessage, loose: LooseResults): JsonObject[] {
  const results = toolItems(parts, loose);
  const content = userContentOf(parts);
  const isEmpty = Array.isArray(content) && content.length === 0;
  return isEmpty ? results : [...results, { type: "message", role: "user", content }];
}

function stepItems(step: readonly SessionMessagePart[], loose: LooseResults): JsonObject[] {
  const content = step.filter(({ type }) => type === "text").map(outputOf);
  const message = { type: "message", role: "assistant", status: "completed", content };
  return [...(content.length === 0 ? [] : [message]), ...toolItems(step, loose)];
}

function toolItems(parts: readonly SessionMessagePart[], loose: LooseResults): JsonObject[] {
  const pairs = pairsOf(parts, loose);
  return [...pairs.map(callItem), ...pairs.map(resultItem)];
}

function textOf(parts: readonly SessionMessagePart[]): string {
  return parts.flatMap(({ type, text }) => (type === "text" ? [text ?? ""] : [])).join("\n");
}

/** The content of a message item as parts. What has no counterpart is left out. */
function partsOfContent(content: unknown): SessionMessagePart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap((block) => partOfBlock(block) ?? []) : [];
}

/** Parts as what a user's message item holds: a text alone is that text. */
function userContentOf(parts: readonly SessionMessagePart[]): unknown {
  const blocks = parts.map(inputOf).filter((block) => block !== null);
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "input_text" ? only.text : blocks;
}

/** A text part as what an assistant's message item holds. */
function outputOf({ text, providerMetadata }: SessionMessagePart): JsonObject {
  const openai = isJsonObject(providerMetadata) ? providerMetadata.openai : undefined;
  if (isJsonObject(openai) && openai.refusal === true) return { type: "refusal", refusal: text ?? "" };
  return { type: "output_text", text: text ?? "" };
}

function partOfBlock(block: unknown): SessionMessagePart | null {
  if (!isJsonObject(block)) return null;
  const { type, text, refusal, image, file, audio, format, filename } = block;
  if ((type === "input_text" || type === "output_text") && typeof text === "string") return { type: "text", text };
  if (type === "refusal" && typeof refusal === "string") {
    return { type: "text", text: refusal, providerMetadata: { openai: { refusal: true } } };
  }
  if (type === "input_image") return filePart(image, "image/*");
  if (type === "input_file") {
    const part = filePart(isJsonObject(file) ? file.url : file, "application/octet-stream");
    return part === null || typeof filename !== "string" ? part : { ...part, filename };
  }
  if (type === "audio" && typeof audio === "string" && typeof format === "string") {
    return { type: "file", mediaType: `audio/${format}`, url: `data:audio/${format};base64,${audio}` };
  }
  return null;
}

function filePart(url: unknown, otherwise: string): SessionMessagePart | null {
  if (typeof url !== "string" || !/^(data:|https?:)/.test(url)) return null;
  const mediaType = /^data:([\w.+-]+\/[\w.+-]+)/.exec(url)?.[1] ?? otherwise;
  return { type: "file", mediaType, url };
}

function inputOf({ type, text, url, mediaType = "", filename }: SessionMessagePart): JsonObject | null {
  if (type === "text") return { type: "input_text", text: text ?? "" };
  if (type !== "file" || typeof url !== "string") return null;
  if (mediaType.startsWith("image/")) return { type: "input_image", image: url };
  const audio = /^data:audio\/(\w+);base64,(.*)$/s.exec(url);
  if (audio !== null) return { type: "audio", audio: audio[2], format: audio[1] };
  return { type: "input_file", file: url, ...(typeof filename === "string" ? { filename } : {}) };
}

/** The fields that stand for bytes, and for an object that has such a field itself. */
const BYTES = "$bytes";
const OBJECT = "$object";

/** An item as JSON: bytes as base64, without fields that are undefined. Errors: `INVALID_ARGUMENT` for what is neither. */
export function toItemJson(item: unknown): JsonObject {
  const json = encode(item, new Set());
  if (isJsonObject(json)) return json;
  throw invalid(`An item must be an object; got ${kindOf(item)}.`);
}

/** The item of `toItemJson`, as a copy of its own. */
export function fromItemJson(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(fromItemJson);
  if (!isJsonObject(json)) return json;
  if (typeof json[BYTES] === "string") return fromBase64(json[BYTES]);
  const fields = isJsonObject(json[OBJECT]) ? json[OBJECT] : json;
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, fromItemJson(value)]));
}

function encode(value: unknown, within: Set<object>): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (value instanceof Uint8Array) return { [BYTES]: toBase64(value) };
  if (!Array.isArray(value) && !isPlain(value)) throw unwritable(`holds ${nameOf(value)}`);
  if (within.has(value)) throw unwritable("refers to itself");
  within.add(value);
  const json = Array.isArray(value) ? value.map((each) => encode(each, within)) : encodeFields(value, within);
  within.delete(value);
  return json;
}

function encodeFields(value: JsonObject, within: Set<object>): JsonObject {
  const given = Object.entries(value).filter(([, field]) => field !== undefined);
  const fields = Object.fromEntries(given.map(([name, field]) => [name, encode(field, within)]));
  return BYTES in fields || OBJECT in fields ? { [OBJECT]: fields } : fields;
}

function isPlain(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function nameOf(value: unknown): string {
  if (typeof value === "object") return `a ${value?.constructor.name ?? "null"}`;
  return typeof value === "number" ? String(value) : kindOf(value);
}

function unwritable(why: string): StemmaError {
  return invalid(`An item ${why}, which is neither JSON nor bytes.`);
}
