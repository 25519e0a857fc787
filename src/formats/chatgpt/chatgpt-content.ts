import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessagePart } from "../../model/message.js";

type Part = SessionMessagePart & JsonObject;

/** The type of a part that holds content as it stood in the file, a picture's place as a rule: no model is shown it. */
export const KEPT = "data-chatgpt";

/** The parts of a message's content. */
export function partsOfContent(content: unknown): Part[] {
  if (content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!isJsonObject(content)) return [{ type: KEPT, data: content }];
  const { content_type: type, parts, thoughts } = content;
  if (type === "thoughts" && Array.isArray(thoughts)) return thoughts.map(partOfThought);
  if (type === "reasoning_recap") return [];
  if (Array.isArray(parts)) return parts.flatMap(partsOfPart);
  const text = textOfContent(content);
  return text === null ? [{ type: KEPT, data: content }] : text === "" ? [] : [{ type: "text", text }];
}

/** The text of content that is one text: code, what it printed, what a page says. Null for any other. */
export function textOfContent(content: unknown): string | null {
  if (!isJsonObject(content)) return null;
  const { text, result, parts } = content;
  if (typeof text === "string") return text;
  if (typeof result === "string") return result;
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === "string")) return null;
  return parts.join("\n");
}

function partsOfPart(part: unknown): Part[] {
  if (typeof part === "string") return part === "" ? [] : [{ type: "text", text: part }];
  // What was said aloud.
  if (isJsonObject(part) && part.content_type === "audio_transcription" && typeof part.text === "string")
    return [{ type: "text", text: part.text }];
  return [{ type: KEPT, data: part }];
}

function partOfThought(thought: unknown): Part {
  const { summary, content }: JsonObject = isJsonObject(thought) ? thought : {};
  const texts = [summary, content].filter((text) => typeof text === "string" && text !== "");
  return texts.length === 0 ? { type: KEPT, data: thought } : { type: "reasoning", text: texts.join("\n\n") };
}
