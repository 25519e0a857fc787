import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessagePart } from "../../model/message.js";
import { isResultBlock, outputOfBlock, partsOfBlocks } from "../claude/claude-content.js";
import { partsOfContent as partsOfItem } from "../codex/codex-items.js";
import { partsOfContent as partsOfCompletion } from "../openai-content.js";
import { keptPart } from "../unread.js";
import { outputOfModelResult, partOfModelContent } from "./model-content.js";

/** The result of a call that stands in a message's content. */
export interface ToolResult {
  callId: string | undefined;
  /** The fields that the call's part gets. */
  fields: JsonObject;
}

/** The blocks of a message's content, whatever dialect it is written in; null for what is no content. */
export function blocksOf(content: unknown): readonly unknown[] | null {
  if (content === null || content === "") return [];
  return Array.isArray(content) ? content : typeof content === "string" ? [content] : null;
}

/** A block as a part. One that no dialect has is kept as it stands. */
export function partOfBlock(block: unknown): SessionMessagePart {
  if (!isJsonObject(block)) return typeof block === "string" ? { type: "text", text: block } : keptPart(block);
  const model = partOfModelContent(block);
  if (model !== null) return model;
  // Each reader keeps what it does not know as a data part.
  const read = [partsOfBlocks, partsOfItem, partsOfCompletion].flatMap((parts) => parts([block]));
  return read.find(({ type }) => !type.startsWith("data-")) ?? keptPart(block);
}

/** The result that a block holds; null for any other block. */
export function resultOf(block: unknown): ToolResult | null {
  if (!isJsonObject(block)) return null;
  const { type, toolCallId, tool_use_id: id } = block;
  if (type === "tool-result" || type === "tool-error")
    return { callId: idOf(toolCallId), fields: outputOfModelResult(block) };
  return isResultBlock(block) ? { callId: idOf(id), fields: outputOfBlock(block) } : null;
}

function idOf(id: unknown): string | undefined {
  return typeof id === "string" ? id : undefined;
}
