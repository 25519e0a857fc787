import {
  estimateMessageTokens,
  estimateStringTokens,
  forEachYielding,
  isSummaryMessage,
  type SessionMessage,
  sendableMessage,
  sha256,
  utf8Length,
} from "@stemma/model";
import { splitPrompt } from "../../context/prompt.js";
import type { SessionTools } from "../../tools/tool.js";

/** What a piece of a request is. "prompt" is what of the prompt belongs to no block. */
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

/** The pieces of a request. */
export async function partsOf(
  tools: SessionTools,
  system: string,
  messages: readonly SessionMessage[],
): Promise<RequestPart[]> {
  const parts = [
    ...Object.entries(tools).map(([name, { description, inputSchema }]) =>
      textPart("tool", name, JSON.stringify([name, description, inputSchema["~standard"].jsonSchema.input()])),
    ),
  ];
  await forEachYielding(splitPrompt(system), ({ label, text }) => {
    parts.push(textPart(label === "" ? "prompt" : "block", label, text));
  });
  await forEachYielding(messages, (message) => {
    const text = JSON.stringify(sendableMessage(message));
    parts.push(part(sourceOf(message), message.id, text, estimateMessageTokens(message)));
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

function textPart(source: PartSource, name: string, text: string): RequestPart {
  return part(source, name, text, estimateStringTokens(text));
}

function part(source: PartSource, name: string, text: string, tokens: number): RequestPart {
  return { source, name, tokens, bytes: utf8Length(text), digest: sha256(text) };
}

/** SHA-256, in hex, of all pieces. */
export function hashOf(parts: readonly RequestPart[]): string {
  return sha256(parts.map(({ digest }) => digest).join());
}

// Of a digest as much as tells two pieces of one place apart.
const DIGEST_LENGTH = 12;

/** What is kept of a request, to find out where the next one differs: the size of each piece and the beginning of its digest. */
export function outlineOf(parts: readonly RequestPart[]): string[] {
  return parts.map(({ bytes, digest }) => `${bytes} ${digest.slice(0, DIGEST_LENGTH)}`);
}

/** The piece of a request with which it first differs from the one of this outline; null where it only goes on. */
export function firstDifference(
  outline: readonly string[],
  parts: readonly RequestPart[],
): { readonly offset: number; readonly part: RequestPart | null } | null {
  const now = outlineOf(parts);
  const index = outline.findIndex((piece, place) => piece !== now[place]);
  if (index < 0) return null;
  return { offset: sizeOf(parts.slice(0, index)).bytes, part: parts[index] ?? null };
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
