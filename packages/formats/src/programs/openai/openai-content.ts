import type { SessionMessagePart } from "@stemma/model";
import { findJson, isJsonObject, type JsonObject } from "@stemma/model";

type Part = SessionMessagePart & JsonObject;

/** OpenAI message content as AI SDK parts. What has no counterpart becomes a data part, which no model is shown. */
export function partsOfContent(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (content === null || content === undefined) return [];
  return Array.isArray(content) ? content.map(partOfBlock) : [{ type: "data-openai", data: content }];
}

/** AI SDK parts as OpenAI message content: a text, a list of blocks, or null for none. Tool calls are not content. */
export function contentOfParts(parts: readonly SessionMessagePart[]): unknown {
  const blocks = parts.map((part) => blockOfPart(part as Part)).filter((block) => block !== null);
  const [only] = blocks;
  if (only === undefined) return null;
  return blocks.length === 1 && only.type === "text" ? only.text : blocks;
}

/** A tool's output as OpenAI has it, a text, read as JSON where writing it again gives the same text. */
export function outputOfText(text: unknown): unknown {
  if (typeof text !== "string" || !/^[[{]/.test(text)) return text;
  const value = findJson(text);
  return value !== undefined && JSON.stringify(value) === text ? value : text;
}

/** A tool's output as a text. */
export function textOfOutput(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output ?? null);
}

function partOfBlock(block: unknown): Part {
  const kept: Part = { type: "data-openai", data: block };
  if (typeof block === "string") return { type: "text", text: block };
  if (!isJsonObject(block)) return kept;
  if (block.type === "text" && typeof block.text === "string") return { type: "text", text: block.text };
  if (block.type === "refusal" && typeof block.refusal === "string") {
    return { type: "text", text: block.refusal, providerMetadata: { openai: { refusal: true } } };
  }
  const { image_url: image, input_audio: audio, file } = block;
  if (block.type === "image_url" && isJsonObject(image) && typeof image.url === "string") {
    const part: Part = { type: "file", mediaType: mediaTypeOf(image.url, "image/*"), url: image.url };
    return image.detail === undefined ? part : { ...part, providerMetadata: { openai: { imageDetail: image.detail } } };
  }
  if (
    block.type === "input_audio" &&
    isJsonObject(audio) &&
    typeof audio.data === "string" &&
    typeof audio.format === "string"
  ) {
    const mediaType = `audio/${audio.format}`;
    return { type: "file", mediaType, url: `data:${mediaType};base64,${audio.data}` };
  }
  if (block.type === "file" && isJsonObject(file) && typeof file.file_data === "string") {
    const part: Part = {
      type: "file",
      mediaType: mediaTypeOf(file.file_data, "application/octet-stream"),
      url: file.file_data,
    };
    return typeof file.filename === "string" ? { ...part, filename: file.filename } : part;
  }
  return kept;
}

function blockOfPart(part: Part): JsonObject | null {
  const openai =
    isJsonObject(part.providerMetadata) && isJsonObject(part.providerMetadata.openai)
      ? part.providerMetadata.openai
      : {};
  if (part.type === "text") {
    return openai.refusal === true ? { type: "refusal", refusal: part.text } : { type: "text", text: part.text };
  }
  if (part.type === "data-openai") return isJsonObject(part.data) ? part.data : null;
  if (part.type !== "file" || typeof part.url !== "string") return null;
  const type = String(part.mediaType ?? "");
  if (type.startsWith("image/")) {
    const detail = openai.imageDetail === undefined ? {} : { detail: openai.imageDetail };
    return { type: "image_url", image_url: { url: part.url, ...detail } };
  }
  const data = /^data:audio\/(\w+);base64,(.*)$/s.exec(part.url);
  if (data !== null) return { type: "input_audio", input_audio: { data: data[2], format: data[1] } };
  const filename = part.filename === undefined ? {} : { filename: part.filename };
  return { type: "file", file: { file_data: part.url, ...filename } };
}

function mediaTypeOf(url: string, otherwise: string): string {
  return /^data:([\w.+-]+\/[\w.+-]+)/.exec(url)?.[1] ?? otherwise;
}

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

/** A model's thoughts, where a provider puts them beside the content of a chat message. */
export function reasoningOf({ reasoning_content, reasoning }: JsonObject): SessionMessagePart[] {
  const text = reasoning_content ?? reasoning;
  return typeof text === "string" && text !== "" ? [{ type: "reasoning", text }] : [];
}
