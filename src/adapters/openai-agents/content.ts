import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessagePart } from "../../model/message.js";

/** What the content of a message item says, as parts. What has no counterpart is left out. */
export function partsOfContent(content: unknown): SessionMessagePart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap((block) => partOfBlock(block) ?? []) : [];
}

/** Parts as what a user's message item holds: a text alone is that text. */
export function userContentOf(parts: readonly SessionMessagePart[]): unknown {
  const blocks = parts.map(inputOf).filter((block) => block !== null);
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "input_text" ? only.text : blocks;
}

/** A text part as what an assistant's message item holds. */
export function outputOf({ text, providerMetadata }: SessionMessagePart): JsonObject {
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
