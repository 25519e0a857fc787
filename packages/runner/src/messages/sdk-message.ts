import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, isSettled, isToolPart, type SettledFields, StemmaError, sameJson } from "@stemma/model";
import type { ContentBlock, SDKMessage, ToolResultBlock } from "../types.js";
import { contentOf, partOf, resultOf, settledFields } from "./sdk-blocks.js";

// A message with settled calls becomes two: its own, and a user message with the results, whose id ends so.
const RESULTS = "#results";
/** The part in which a stored message carries the documented messages that its own shape could not give back. */
export const CARRIER = "data-sdk";

/**
 * Converts stored messages to `SDKMessage`s. Nothing is lost: `fromSDKMessages` gives the same messages back. A message with
 * tool results becomes two: the assistant's with `tool_use` blocks, then a user's with `tool_result` blocks. Throws nothing.
 */
export function toSDKMessages(messages: readonly SessionMessage[]): SDKMessage[] {
  return messages.flatMap((message) => {
    const kept = carried(message);
    if (kept !== null) return kept;
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
