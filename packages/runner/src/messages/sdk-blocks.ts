import type { SessionMessagePart } from "@stemma/model";
import { findJson, isToolPart, readToolPart, type SettledFields, type ToolCallPart, toolNameOf } from "@stemma/model";
import type { ContentBlock, ImageBlock, SDKMessage, ToolResultBlock } from "../types.js";

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
export function settledFields(result: ToolResultBlock): SettledFields {
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
