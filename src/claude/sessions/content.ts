import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessagePart } from "../../model/message.js";
import { readToolPart } from "../../model/tool-parts.js";

type Part = SessionMessagePart & JsonObject;

/** The content of a message of Claude as parts. What a block holds beside its part's fields is kept as provider metadata. */
export function partsOfContent(content: string | readonly JsonObject[]): Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(partOfBlock);
}

/** Parts as content blocks of Claude. What only other programs have, such as steps and sources, is left out. */
export function blocksOfParts(parts: readonly SessionMessagePart[]): JsonObject[] {
  return parts.map((part) => blockOfPart(part as Part)).filter((block) => block !== null);
}

function partOfBlock(block: JsonObject): Part {
  const { type, text, thinking, id, name, input, tool_use_id, content, source, ...others } = block;
  const rest = Object.keys(others).length === 0 ? {} : { providerMetadata: { claude: others } };
  if (type === "text" && typeof text === "string") return { type: "text", text, ...rest };
  if (type === "thinking" && typeof thinking === "string") return { type: "reasoning", text: thinking, ...rest };
  if (type === "tool_use" && typeof id === "string" && typeof name === "string") {
    const part = { type: "dynamic-tool", toolName: name, toolCallId: id, state: "input-available", input };
    return { ...part, callProviderMetadata: rest.providerMetadata };
  }
  if (type === "tool_result" && typeof tool_use_id === "string") {
    return { type: "tool-result", toolCallId: tool_use_id, output: content, ...rest };
  }
  if (type === "image" && isJsonObject(source) && source.type === "base64") {
    return {
      type: "file",
      mediaType: `${source.media_type}`,
      url: `data:${source.media_type};base64,${source.data}`,
      ...rest,
    };
  }
  return { type: "data-claude", data: block };
}

function blockOfPart(part: Part): JsonObject | null {
  const metadata = part.providerMetadata ?? part.callProviderMetadata;
  const { claude } = isJsonObject(metadata) ? metadata : {};
  const rest = isJsonObject(claude) ? claude : {};
  const tool = readToolPart(part);
  // What others noted of a call's result is told behind it.
  if (tool?.kind === "call" || tool?.kind === "both") {
    return { type: "tool_use", id: tool.toolCallId, name: tool.toolName, input: tool.input, ...rest };
  }
  if (tool !== null) return { type: "tool_result", tool_use_id: tool.toolCallId, content: tool.output, ...rest };
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...rest };
    case "reasoning":
      return { type: "thinking", thinking: part.text, ...rest };
    case "data-claude":
      return isJsonObject(part.data) ? part.data : null;
    case "file":
      return imageBlock(part, rest);
    default:
      return null;
  }
}

function imageBlock({ url }: Part, rest: JsonObject): JsonObject | null {
  const [, mediaType, data] = (typeof url === "string" && /^data:([^;,]*);base64,(.*)$/s.exec(url)) || [];
  if (mediaType === undefined) return null;
  return { type: "image", source: { type: "base64", media_type: mediaType, data }, ...rest };
}
