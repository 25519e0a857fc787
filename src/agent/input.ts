import { StemmaError } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import { fromSDKMessages, settledFields } from "./sdk-message.js";
import type { ContentBlock, SDKMessage } from "./types.js";

/** What `send` takes: a text, blocks, a message in the documented shape, or a `UIMessage` of the AI SDK. */
export type AgentInput = string | ContentBlock[] | SDKMessage | SessionMessage;

interface ParsedInput {
  /** Null when there were only results. */
  readonly message: SessionMessage | null;
  /** The fields of a settled call, by its id. */
  readonly results: ReadonlyMap<string, Record<string, unknown>>;
}

/** Errors: `INVALID_ARGUMENT`. */
export function parseInput(input: AgentInput): ParsedInput {
  if (typeof input === "string") return messageOnly(text(input));
  if (Array.isArray(input)) return parseBlocks({ role: "user", content: input });
  if (typeof input !== "object" || input === null) throw invalid();
  if ("parts" in input) return messageOnly(input);
  if (input.role !== "user") throw invalid();
  if (typeof input.content === "string") return messageOnly(fromSDKMessages([input])[0]);
  return parseBlocks(input);
}

function parseBlocks(input: SDKMessage): ParsedInput {
  if (!Array.isArray(input.content) || input.content.length === 0) throw invalid();
  const results = new Map<string, Record<string, unknown>>();
  const content: ContentBlock[] = [];
  for (const block of input.content) {
    if (block.type === "tool_result") results.set(block.tool_use_id, settledFields(block));
    else content.push(block);
  }
  if (content.length === 0) return { message: null, results };
  return { message: fromSDKMessages([{ ...input, content }])[0] ?? null, results };
}

function messageOnly(message: SessionMessage | undefined): ParsedInput {
  return { message: message ?? null, results: new Map() };
}

function text(content: string): SessionMessage {
  return { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: content }] };
}

function invalid(): StemmaError {
  const message = "send() takes a text, an array of blocks, a user's message { role, content }, or a UIMessage.";
  return new StemmaError("INVALID_ARGUMENT", {}, message);
}
