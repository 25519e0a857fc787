import { StemmaError } from "../../errors.js";
import { isJsonObject } from "../../model/json-object.js";
import type { SessionMessage, SessionMessagePart } from "../../model/message.js";
import type { SettledFields } from "../../model/tool-calls.js";
import type { ContentBlock, SDKMessage } from "../types.js";
import { settledFields } from "./sdk-blocks.js";
import { CARRIER, fromSDKMessages } from "./sdk-message.js";

/** What `send` takes: a text, blocks, a user's message in the documented shape, or a `UIMessage` of the AI SDK. */
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
