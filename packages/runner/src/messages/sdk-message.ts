import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import {
  findJson,
  isJsonObject,
  isSettled,
  isToolPart,
  readToolPart,
  type SettledFields,
  StemmaError,
  sameJson,
  type ToolCallPart,
  toolNameOf,
} from "@stemma/model";
import type { ContentBlock, ImageBlock, SDKMessage, ToolResultBlock } from "../types.js";

// A message with settled calls becomes two: its own, and a user message with the results, whose id ends so.
const RESULTS = "#results";
/** The part in which a stored message carries the documented messages that its own shape could not give back. */
const CARRIER = "data-sdk";

/**
 * Converts stored messages to `SDKMessage`s. Nothing is lost: `fromSDKMessages` gives the same messages back. A message with
 * tool results becomes two: the assistant's with `tool_use` blocks, then a user's with `tool_result` blocks. Throws nothing.
 */
export function toSDKMessages(messages: readonly SessionMessage[]): SDKMessage[] {
  return messages.flatMap((message) => {
    const original = carried(message);
    if (original !== null) return original;
    const unit = toUnit(message);
    return sameJson(fromUnit(unit), message)
      ? unit
      : unit.map((part, index) => (index === 0 ? { ...part, ui: message } : part));
  });
}

/**
 * Converts `SDKMessage`s to stored messages; `toSDKMessages` gives the same messages back. A message without an id gets one.
 * Each tool result is put into the part of its call. Throws nothing.
 */
export function fromSDKMessages(messages: readonly SDKMessage[]): SessionMessage[] {
  return unitsOf(messages).map((unit) => {
    const ui = unit[0]?.ui;
    if (ui !== undefined && sameJson(withoutCarrier(unit), toUnit(ui))) return ui;
    const message = fromUnit(unit);
    if (sameJson(withIds(unit, message.id), toUnit(message))) return message;
    return { ...message, parts: [...message.parts, { type: CARRIER, data: unit } as SessionMessagePart] };
  });
}

/** The documented messages that a stored one carries, as long as it still says what they say. */
function carried(message: SessionMessage): SDKMessage[] | null {
  const last = message.parts.at(-1) as (SessionMessagePart & { data?: unknown }) | undefined;
  if (last?.type !== CARRIER || !Array.isArray(last.data)) return null;
  const unit = last.data as SDKMessage[];
  const own = { ...message, parts: message.parts.slice(0, -1) };
  if (!sameJson({ ...fromUnit(unit), id: message.id }, own)) return null;
  return unit;
}

// ── One stored message: the assistant's and its results, or any other alone ──

function unitsOf(messages: readonly SDKMessage[]): SDKMessage[][] {
  const units: SDKMessage[][] = [];
  for (const message of messages) {
    const unit = units.at(-1);
    if (unit !== undefined && answers(unit, message)) unit.push(message);
    else units.push([message]);
  }
  return units;
}

/** True for a message that consists of results of the calls before it, each for the first time. */
function answers(unit: readonly SDKMessage[], message: SDKMessage): boolean {
  const [asked] = unit;
  // What was a message of its own stays one.
  if (message.ui !== undefined) return false;
  if (unit.length !== 1 || asked?.role !== "assistant" || message.role !== "user") return false;
  if (typeof message.content === "string" || message.content.length === 0 || typeof asked.content === "string") {
    return false;
  }
  const open = new Set(asked.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])));
  return message.content.every((block) => block.type === "tool_result" && open.delete(block.tool_use_id));
}

function toUnit(message: SessionMessage): SDKMessage[] {
  const { id, role, parts, ...rest } = message;
  const own: SDKMessage = {
    id,
    role: role === "tool" ? "user" : (role as SDKMessage["role"]),
    content: contentOf(parts),
    ...rest,
  };
  const calls = parts.filter(isToolPart);
  const results = calls.filter(isSettled).map(resultOf);
  // Otherwise a result could not find its call again.
  const plain = role === "assistant" && new Set(calls.map(({ toolCallId }) => toolCallId)).size === calls.length;
  return results.length === 0 || !plain ? [own] : [own, { id: id + RESULTS, role: "user", content: results }];
}

function fromUnit(unit: readonly SDKMessage[]): SessionMessage {
  const [own, answer] = unit as [SDKMessage, SDKMessage?];
  const { id, role, content, ui: _ui, ...rest } = own;
  const blocks: readonly ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const results = new Map<string, ToolResultBlock>();
  for (const block of answer === undefined || typeof answer.content === "string" ? [] : answer.content) {
    if (block.type === "tool_result") results.set(block.tool_use_id, block);
  }
  const parts = blocks.map((block) => partOf(block, results));
  return { id: id ?? crypto.randomUUID(), role, parts, ...rest };
}

/** The messages with the ids that they are given where they have none. */
function withIds(unit: readonly SDKMessage[], id: string): SDKMessage[] {
  return withoutCarrier(unit).map((message, index) => ({
    ...message,
    id: message.id ?? (index === 0 ? id : id + RESULTS),
  }));
}

function withoutCarrier(unit: readonly SDKMessage[]): SDKMessage[] {
  return unit.map(({ ui: _ui, ...message }) => message);
}

/** A message for `send`: a text, blocks, a user's message in the documented shape, or a `UIMessage` of the AI SDK. */
export type AgentInput = string | ContentBlock[] | SDKMessage | SessionMessage;

interface ParsedInput {
  /** Null when there were only results. */
  readonly message: SessionMessage | null;
  /** The fields of a settled call, by its id. */
  readonly results: ReadonlyMap<string, SettledFields>;
}

/** True for the blocks that a user can say. */
function isSaid(block: unknown): boolean {
  if (!isJsonObject(block)) return false;
  const { type, tool_use_id, content, is_error = false, part } = block;
  if (type === "part") return isJsonObject(part) && typeof part.type === "string";
  if (type !== "tool_result") return isTextOrImage(block);
  if (typeof tool_use_id !== "string" || typeof is_error !== "boolean") return false;
  return typeof content === "string" || (Array.isArray(content) && content.every(isTextOrImage));
}

function isTextOrImage(block: unknown): boolean {
  if (!isJsonObject(block)) return false;
  const { type, text, source } = block;
  if (type === "text") return typeof text === "string";
  if (type !== "image" || !isJsonObject(source)) return false;
  if (source.type === "url") return typeof source.url === "string";
  return source.type === "base64" && typeof source.media_type === "string" && typeof source.data === "string";
}

/** Errors: `INVALID_ARGUMENT`. */
export function parseInput(input: AgentInput): ParsedInput {
  const parsed = parse(input);
  const parts: unknown = parsed.message?.parts;
  if (Array.isArray(parts) && parts.every(isBlank)) {
    const message = "The message is blank, and models refuse blank messages: send some text.";
    throw new StemmaError("INVALID_ARGUMENT", {}, message);
  }
  return parsed;
}

function parse(input: AgentInput): ParsedInput {
  if (typeof input === "string") return parse({ role: "user", content: input });
  if (Array.isArray(input)) return parse({ role: "user", content: input });
  if (typeof input !== "object" || input === null || input.role !== "user") throw invalid();
  if ("parts" in input) return { message: input, results: new Map() };
  if (typeof input.content === "string") return { message: fromSDKMessages([input])[0] ?? null, results: new Map() };
  if (!Array.isArray(input.content) || input.content.length === 0 || !input.content.every(isSaid)) throw invalid();
  const results = new Map<string, SettledFields>();
  const content: ContentBlock[] = [];
  for (const block of input.content) {
    if (block.type === "tool_result") results.set(block.tool_use_id, settledFields(block));
    else content.push(block);
  }
  const message = content.length === 0 ? null : (fromSDKMessages([{ ...input, content }])[0] ?? null);
  return { message, results };
}

function isBlank(part: SessionMessagePart): boolean {
  if (part?.type === CARRIER) return true;
  return part?.type === "text" && typeof part.text === "string" && part.text.trim() === "";
}

function invalid(): StemmaError {
  const message =
    "send() takes a text, an array of text, image and tool_result blocks, a user's message { role, content }, or a UIMessage.";
  return new StemmaError("INVALID_ARGUMENT", {}, message);
}

// ── Parts and blocks ──

/** The parts of a message as the documents write them: one plain text as a text. */
export function contentOf(parts: readonly SessionMessagePart[]): SDKMessage["content"] {
  const [only] = parts;
  if (parts.length === 1 && only?.type === "text" && isPlain(only, ["type", "text"])) return only.text ?? "";
  return parts.map(blockOf);
}

function blockOf(part: SessionMessagePart): ContentBlock {
  if (part.type === "text" && isPlain(part, ["type", "text"])) return { type: "text", text: part.text ?? "" };
  if (part.type === "file" && isPlain(part, ["type", "mediaType", "url"]))
    return imageOf(part) ?? { type: "part", part };
  if (isToolPart(part)) {
    const {
      type: _type,
      toolCallId,
      toolName: _name,
      state: _state,
      input,
      output: _output,
      errorText: _error,
      ...rest
    } = part;
    const call = { type: "tool_use", id: toolCallId, name: toolNameOf(part), input, ...rest } as const;
    return call;
  }
  return blockOfOther(part) ?? { type: "part", part };
}

/** The block of a call or a result that another program wrote as a part of its own. */
function blockOfOther(part: SessionMessagePart): ContentBlock | null {
  const tool = readToolPart(part);
  if (tool === null || tool.kind === "both" || tool.toolCallId === null) return null;
  const { toolCallId: id, toolName, input, output, errorText } = tool;
  if (tool.kind === "call") return { type: "tool_use", id, name: toolName ?? "tool", input };
  if (errorText !== null) return { type: "tool_result", tool_use_id: id, content: errorText, is_error: true };
  const result = { type: "tool_result", tool_use_id: id } as const;
  return typeof output === "string"
    ? { ...result, content: output }
    : { ...result, content: jsonOf(output), json: true };
}

function jsonOf(output: unknown): string {
  return JSON.stringify(output) ?? "null";
}

/** The part that a block stands for; a call with its result, where `results` has one. */
export function partOf(block: ContentBlock, results: ReadonlyMap<string, ToolResultBlock>): SessionMessagePart {
  switch (block.type) {
    case "text":
      return { ...block };
    case "part":
      return block.part;
    case "image": {
      const { source } = block;
      if (source.type === "url") return { type: "file", mediaType: "image/*", url: source.url };
      return { type: "file", mediaType: source.media_type, url: `data:${source.media_type};base64,${source.data}` };
    }
    case "tool_use": {
      const { id, name, input, type: _type, ...rest } = block;
      const call = { type: `tool-${name}`, toolCallId: id, input, ...rest };
      const result = results.get(id);
      return { ...call, ...(result === undefined ? { state: "input-available" } : settledFields(result)) };
    }
    default:
      // A result without its call before it: kept as it is, and shown to no model.
      return { type: "data-block", data: block } as SessionMessagePart;
  }
}

function imageOf(part: SessionMessagePart): ImageBlock | null {
  const { url, mediaType = "" } = part;
  if (typeof url !== "string") return null;
  if (mediaType === "image/*" && !url.startsWith("data:")) return { type: "image", source: { type: "url", url } };
  const prefix = `data:${mediaType};base64,`;
  if (!mediaType.startsWith("image/") || !url.startsWith(prefix)) return null;
  return { type: "image", source: { type: "base64", media_type: mediaType, data: url.slice(prefix.length) } };
}

/** The `tool_result` block of a settled call. */
export function resultOf(part: ToolCallPart): ToolResultBlock {
  const own = { type: "tool_result", tool_use_id: part.toolCallId } as const;
  if (part.state !== "output-available") return { ...own, content: part.errorText ?? "Denied.", is_error: true };
  if (typeof part.output === "string") return { ...own, content: part.output };
  return { ...own, content: jsonOf(part.output), json: true };
}

/** The fields that a result gives to its call. */
function settledFields(result: ToolResultBlock): SettledFields {
  if (result.is_error === true) return { state: "output-error", errorText: textOf(result.content) };
  return { state: "output-available", output: outputOf(result) };
}

function outputOf(result: ToolResultBlock): unknown {
  if (typeof result.content !== "string" || result.json !== true) return result.content;
  const output = findJson(result.content);
  // The mark may have been set by hand, on a text that is not JSON.
  return output === undefined ? result.content : output;
}

function textOf(content: string | readonly ContentBlock[]): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : JSON.stringify(block))).join("\n");
}

function isPlain(part: object, fields: readonly string[]): boolean {
  return Object.entries(part).every(([field, value]) => fields.includes(field) || value === undefined);
}
