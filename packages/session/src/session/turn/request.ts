import {
  check,
  defineOptions,
  estimateMessageTokens,
  estimateStringTokens,
  forEachYielding,
  type HistoryMessage,
  isJsonObject,
  isSummaryMessage,
  mapped,
  type Pieces,
  type SessionMessage,
  sendableMessage,
  sha256,
  utf8Length,
} from "@stemma/model";
import type { ContextBlock } from "../../context/block.js";
import { splitPrompt } from "../../context/prompt.js";
import type { SessionTools } from "../../tools/tool.js";
import { RECALL, type Recalled, type RecalledPlace, type RecallOptions } from "../recall/recall-options.js";

/** How long providers keep the prefix of a request, in milliseconds, unless `cacheTtl` says otherwise. */
export const DEFAULT_CACHE_TTL = 300_000;

export interface PrepareTurnOptions {
  /** The user's message that is to be answered. Default: the last one of the visible history. */
  messageId?: string | null | undefined;
  /** How long the model's provider keeps the prefix of a request, in milliseconds. Default 300,000. */
  cacheTtl?: number | undefined;
  /** Of a stored message that cannot be read: throw `CORRUPT_MESSAGE` (the default), or leave it out. */
  onCorrupt?: "throw" | "skip" | undefined;
  /** Quotes what the user's entries and other chats hold about the message. Default: nothing. */
  recall?: RecallOptions | undefined;
  /** The other tools of the request, by name: where `session_search` is one, the model is told that it finds what was summarised. */
  tools?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Why the prompt was rendered anew: there was none, a compaction rewrote the history, the provider no longer keeps the
 * prefix, blocks were added or removed, or too much was told since.
 */
export type RefreshReason = "first" | "compaction" | "idle" | "blocks" | "size";

/** A request to a model, without the tools. */
export interface TurnRequest<M extends SessionMessage = SessionMessage> {
  /** The frozen prompt. */
  readonly system: string;
  /** The visible history, oldest first; what is told beside it is the last text part of a user's message, or of a summary. */
  readonly messages: M[];
  /** The blocks whose change this turn tells for the first time. */
  readonly changes: readonly ContextBlock[];
  /** Quotes of the user's memory that this turn shows for the first time, by where it stands, and what that costs. */
  readonly recalled: Recalled<RecalledPlace>;
  readonly refreshed: false | RefreshReason;
  /** SHA-256, in hex, of tools, `system` and `messages`: equal for requests that are the same. */
  readonly prefixHash: string;
}

/** A turn that `prepareTurn` prepared. */
export type PreparedTurn<M extends SessionMessage = HistoryMessage, T = SessionTools> = TurnRequest<M> & {
  readonly tools: T;
  /**
   * Tells what others changed in the blocks since the turn was prepared, or since this was last called: a text for the model, to be
   * sent as a user's message before its next step. Null for nothing; what the model itself wrote by the tools it knows. The
   * next turn tells it again behind the user's message. Errors: those of the store.
   */
  update(): Promise<string | null>;
};

/** The options of `prepareTurn`, which all that is built on it takes too. */
export const PREPARE_TURN = defineOptions<PrepareTurnOptions>({
  messageId: check.messageId("the last one"),
  cacheTtl: check.amount("milliseconds"),
  onCorrupt: check.oneOf("skip", "throw"),
  recall: check.nested(RECALL),
  tools: check.rule("an object that holds tools by their names", isJsonObject),
});

/** The kind of a piece of a request. "prompt" is what of the prompt belongs to no block. */
export type PartSource = "tool" | "prompt" | "block" | "summary" | "message";

/** A piece of a request, in the order in which providers cache them: tools, prompt, messages. */
export interface RequestPart extends ContextSize {
  readonly source: PartSource;
  /** The tool's name, the block's folded label, or the message's id; "" for what of the prompt is no block. */
  readonly name: string;
  readonly digest: string;
}

type SizedMessage = Omit<RequestPart, "digest">;

export interface ContextSize {
  /** Estimated. */
  readonly tokens: number;
  /** Of the text, or of the JSON, in UTF-8. */
  readonly bytes: number;
}

/** The pieces of a request, whose messages are as a request can hold them. */
export async function partsOf(
  tools: SessionTools,
  system: string,
  messages: readonly SessionMessage[],
): Promise<RequestPart[]> {
  const parts: RequestPart[] = [];
  await forEachYielding(Object.entries(tools), ([name, { description, inputSchema }]) => {
    const text = JSON.stringify([name, description, inputSchema["~standard"].jsonSchema.input()]);
    parts.push(textPart("tool", name, text));
  });
  await forEachYielding(splitPrompt(system), ({ header, text }) => {
    parts.push(header === null ? textPart("prompt", "", text) : textPart("block", header.label, text));
  });
  await forEachYielding(messages, (message) => {
    parts.push(part(sourceOf(message), message.id, JSON.stringify(message), estimateMessageTokens(message)));
  });
  return parts;
}

/** The sizes of messages, each as a piece of a request. */
export async function sizesOf(messages: readonly SessionMessage[]): Promise<SizedMessage[]> {
  const sizes: SizedMessage[] = [];
  await forEachYielding(messages, (message) => {
    const bytes = utf8Length(JSON.stringify(sendableMessage(message)));
    sizes.push({ source: sourceOf(message), name: message.id, tokens: estimateMessageTokens(message), bytes });
  });
  return sizes;
}

function sourceOf(message: SessionMessage): PartSource {
  return isSummaryMessage(message) ? "summary" : "message";
}

/** The id of the newest summary of a history; null without one. */
export function summaryIn(messages: readonly SessionMessage[]): string | null {
  return messages.findLast(isSummaryMessage)?.id ?? null;
}

function textPart(source: PartSource, name: string, text: string): RequestPart {
  return part(source, name, text, estimateStringTokens(text));
}

function part(source: PartSource, name: string, text: string, tokens: number): RequestPart {
  return { source, name, tokens, bytes: utf8Length(text), digest: sha256(text) };
}

/** So many pieces are hashed at once. */
const HASHED_AT_ONCE = 1000;

/** SHA-256, in hex, of all pieces: of each thousand with the hash of those before. */
export function* hashOf(parts: readonly RequestPart[]): Pieces<string> {
  let hash = "";
  for (let start = 0; start === 0 || start < parts.length; start += HASHED_AT_ONCE) {
    const some = parts.slice(start, start + HASHED_AT_ONCE).map(({ digest }) => digest);
    hash = sha256(hash + some.join());
    yield;
  }
  return hash;
}

// Of a digest as much as tells two pieces of one place apart.
const DIGEST_LENGTH = 12;

/** Sums a request up, to find out where the next one differs: the size of each piece and the beginning of its digest. */
export function outlineOf(parts: readonly RequestPart[]): Pieces<string[]> {
  return mapped(parts, ({ bytes, digest }) => `${bytes} ${digest.slice(0, DIGEST_LENGTH)}`);
}

/** The sizes of pieces together. */
export function sizeOf(parts: readonly ContextSize[]): ContextSize {
  const sum = { tokens: 0, bytes: 0 };
  for (const { tokens, bytes } of parts) {
    sum.tokens += tokens;
    sum.bytes += bytes;
  }
  return sum;
}

export function sizeOfText(text: string): ContextSize {
  return { tokens: estimateStringTokens(text), bytes: utf8Length(text) };
}
