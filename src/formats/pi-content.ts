import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { SessionMessagePart } from "../model/message.js";
import { readToolPart } from "../model/tool-parts.js";
import { textOfOutput } from "./openai-content.js";
import { without } from "./origin.js";

type Part = SessionMessagePart & JsonObject;

/** The content of a pi message as AI SDK parts. What a block holds beside the part's fields is kept as provider metadata. */
export function partsOfContent(content: unknown): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(partOfBlock) : [{ type: "data-pi", data: content }];
}

/** AI SDK parts as content of a pi message. Sources, steps and data parts that are not pi's own have no place in it. */
export function contentOfParts(parts: readonly SessionMessagePart[]): JsonObject[] {
  return parts.map((part) => blockOfPart(part as Part)).filter((block) => block !== null);
}

/** The fields that a tool part gets from a result. One text is the output itself; anything else stays as it is. */
export function outputFields({ content, isError }: JsonObject): JsonObject {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  const [only] = blocks;
  const text = blocks.length === 1 && isText(only) ? only.text : null;
  if (isError !== true) return { state: "output-available", output: text ?? content ?? null };
  return {
    state: "output-error",
    errorText: text ?? blocks.map((block) => (isText(block) ? block.text : "")).join("\n"),
  };
}

/** A result's content from the tool part that holds it. */
export function contentOfOutput(part: SessionMessagePart | undefined): unknown {
  const tool = part === undefined ? null : readToolPart(part);
  if (tool === null) return [];
  const { output, errorText } = tool;
  if (Array.isArray(output) && output.every((block) => isJsonObject(block) && typeof block.type === "string"))
    return output;
  return [{ type: "text", text: errorText ?? textOfOutput(output) }];
}

function isText(block: unknown): block is { text: string } {
  return (
    isJsonObject(block) && block.type === "text" && typeof block.text === "string" && Object.keys(block).length === 2
  );
}

function partOfBlock(block: unknown): Part {
  const kept: Part = { type: "data-pi", data: block };
  if (!isJsonObject(block)) return kept;
  const { type, text, thinking, data, mimeType, id, name } = block;
  if (type === "text" && typeof text === "string") return withRest({ type: "text", text }, block, "text");
  if (type === "thinking" && typeof thinking === "string") {
    return withRest({ type: "reasoning", text: thinking }, block, "thinking");
  }
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    return withRest(
      { type: "file", mediaType: mimeType, url: `data:${mimeType};base64,${data}` },
      block,
      "data",
      "mimeType",
    );
  }
  if (type === "toolCall" && typeof id === "string" && typeof name === "string") {
    const part: Part = {
      type: "dynamic-tool",
      toolName: name,
      toolCallId: id,
      state: "input-available",
      input: block.arguments,
    };
    return withRest(part, block, "id", "name", "arguments");
  }
  return kept;
}

function withRest(part: Part, block: JsonObject, ...read: string[]): Part {
  const rest = without(block, "type", ...read);
  if (Object.keys(rest).length === 0) return part;
  return { ...part, [metadataField(part)]: { pi: rest } };
}

function metadataField(part: SessionMessagePart): "callProviderMetadata" | "providerMetadata" {
  return part.type === "dynamic-tool" ? "callProviderMetadata" : "providerMetadata";
}

function blockOfPart(part: Part): JsonObject | null {
  const metadata = part[metadataField(part)];
  const rest = isJsonObject(metadata) && isJsonObject(metadata.pi) ? metadata.pi : {};
  const tool = readToolPart(part);
  if (tool !== null)
    return { type: "toolCall", id: tool.toolCallId, name: tool.toolName, arguments: tool.input, ...rest };
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...rest };
    case "reasoning":
      return { type: "thinking", thinking: part.text, ...rest };
    case "data-pi":
      return isJsonObject(part.data) ? part.data : null;
    case "file":
      return imageBlock(part, rest);
    default:
      return null;
  }
}

function imageBlock({ url, mediaType, filename }: Part, rest: JsonObject): JsonObject {
  const data = typeof url === "string" ? /^data:([^;,]*);base64,(.*)$/s.exec(url) : null;
  if (data?.[1]?.startsWith("image/")) return { type: "image", data: data[2], mimeType: data[1], ...rest };
  // pi's messages hold texts and images; of another file they can only say that it was there.
  return { type: "text", text: `[file ${filename ?? ""} ${mediaType ?? ""}]`.replace(/ +/g, " ") };
}
