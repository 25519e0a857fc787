import { atOnce, isJsonObject, type JsonObject, type Pieces } from "@stemma/model";
import { isItem } from "../../conversations.js";
import { areParts } from "../../stemma/session-file.js";

/** How the messages of a list are written. "completions" and "responses" are OpenAI's two interfaces. */
export type Dialect =
  | "ui-messages"
  | "completions"
  | "responses"
  | "anthropic"
  | "model-messages"
  | "gemini"
  | "cursor";

/** Types of content blocks that only one dialect has. */
const BLOCKS: Readonly<Record<string, Dialect>> = {
  thinking: "anthropic",
  redacted_thinking: "anthropic",
  input_text: "responses",
  output_text: "responses",
  input_image: "responses",
  input_file: "responses",
  "tool-call": "model-messages",
  "tool-result": "model-messages",
  "tool-error": "model-messages",
  "tool-approval-request": "model-messages",
  "tool-approval-response": "model-messages",
  reasoning: "model-messages",
  "reasoning-file": "model-messages",
  "redacted-reasoning": "model-messages",
};

/** Fields of OpenAI's chat messages that no other dialect has. */
const OF_COMPLETIONS = ["tool_calls", "tool_call_id", "function_call", "refusal"];

/** The dialect of a list of messages, as the first of them shows that has something of its own; null where none has. */
export function dialectOf(messages: readonly JsonObject[]): Dialect | null {
  return atOnce(findDialect(messages));
}

/** Finds the dialect of a list of any length, in pieces. */
export function* findDialect(messages: readonly JsonObject[]): Pieces<Dialect | null> {
  for (const message of messages) {
    const dialect = dialectOfMessage(message);
    if (dialect !== null) return dialect;
    yield;
  }
  return null;
}

/** True for messages that have a text, and nothing that only one dialect has. */
export function isPlain(messages: readonly JsonObject[]): boolean {
  const hasText = messages.some(({ content, text }) => content !== undefined || typeof text === "string");
  return hasText && dialectOf(messages) === null;
}

function dialectOfMessage(message: JsonObject): Dialect | null {
  const { parts, content, toolInvocations, experimental_attachments: attachments } = message;
  // Where there are none, the text stands in the content.
  const hasParts = Array.isArray(parts) && (parts.length > 0 || content === undefined);
  if (hasParts) return parts.some(isGeminiPart) ? "gemini" : "ui-messages";
  if ((toolInvocations ?? attachments ?? null) !== null) return "ui-messages";
  if (content === undefined && isJsonObject(message.message)) return "cursor";
  if (isItem(message)) return "responses";
  if (OF_COMPLETIONS.some((field) => field in message)) return "completions";
  for (const block of Array.isArray(content) ? content : []) {
    const dialect = isJsonObject(block) ? dialectOfBlock(block) : null;
    if (dialect !== null) return dialect;
  }
  return null;
}

function dialectOfBlock({ type, source, image, data, mediaType, mimeType }: JsonObject): Dialect | null {
  if (typeof type !== "string") return null;
  if (type.endsWith("tool_use") || type.endsWith("tool_result") || isJsonObject(source)) return "anthropic";
  const isFile = (type === "image" || type === "file") && (image ?? data ?? mediaType ?? mimeType) !== undefined;
  return isFile ? "model-messages" : (BLOCKS[type] ?? null);
}

/** True for a part as Gemini's interface has it: it has no type. */
export function isGeminiPart(part: unknown): part is JsonObject {
  if (!isJsonObject(part) || areParts([part])) return false;
  return ["text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"].some(
    (k) => k in part,
  );
}
