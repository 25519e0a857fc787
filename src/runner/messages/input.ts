import { z } from "zod";
import { StemmaError } from "../../errors.js";
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

const text = z.looseObject({ type: z.literal("text"), text: z.string() });
const image = z.looseObject({
  type: z.literal("image"),
  source: z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
    z.looseObject({ type: z.literal("url"), url: z.string() }),
  ]),
});
const toolResult = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.union([text, image]))]),
  is_error: z.boolean().optional(),
});
const part = z.looseObject({ type: z.literal("part"), part: z.looseObject({ type: z.string() }) });
/** The blocks that a user can say. */
const blocks = z.array(z.discriminatedUnion("type", [text, image, toolResult, part])).min(1);

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
  const parsed = blocks.safeParse(input.content);
  if (!parsed.success) throw invalid(parsed.error);
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

function invalid(cause?: unknown): StemmaError {
  const message =
    "send() takes a text, an array of text, image and tool_result blocks, a user's message { role, content }, or a UIMessage.";
  return new StemmaError("INVALID_ARGUMENT", {}, message, { cause });
}
