import {
  estimateMessageTokens,
  estimateStringTokens,
  forEachYielding,
  isSummaryMessage,
  mapped,
  type Pieces,
  type SessionMessage,
  sendableMessage,
  sha256,
  utf8Length,
} from "@stemma/model";
import { splitPrompt } from "../../context/prompt.js";
import type { SessionTools } from "../../tools/tool.js";

/** The kind of a piece of a request. "prompt" is what of the prompt belongs to no block. */
export type PartSource = "tool" | "prompt" | "block" | "summary" | "message";

/** A piece of a request, in the order in which providers cache them: tools, prompt, messages. */
export interface RequestPart extends ContextSize {
  readonly source: PartSource;
  /** The tool's name, the block's folded label, or the message's id; "" for what of the prompt is no block. */
  readonly name: string;
  readonly digest: string;
}

export type SizedMessage = Omit<RequestPart, "digest">;

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
