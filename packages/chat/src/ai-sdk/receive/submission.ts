import {
  assertEncodable,
  contentForParts,
  invalid,
  isJsonObject,
  isToolPart,
  readJsonObject,
  type SessionMessage,
  StemmaError,
} from "@stemma/model";
import type { UIMessage, UIMessageChunk } from "ai";
import { validMessage } from "../message/validate.js";
/** The body that `useChat` posts: the last message or the whole list, and what for. */
export interface Submission {
  readonly chatId: string | undefined;
  readonly trigger: "submit-message" | "regenerate-message";
  /** The message that is edited, regenerated or continued, if the client names one. */
  readonly messageId: string | undefined;
  /** As the client has them. */
  readonly messages: readonly GivenMessage[];
  /** The whole body, with what the client adds of its own. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A message of a client, of which nothing is known but this. */
export type GivenMessage = SessionMessage & { readonly role: "user" | "assistant" };

/**
 * Reads the body of a request, and refuses whatever can be refused without a look at what is stored.
 * Errors: `REQUEST_TOO_LARGE`, `INVALID_ARGUMENT`, `INVALID_MESSAGE`, `INVALID_TEXT`.
 */
export async function readSubmission(request: Request, maxBytes: number): Promise<Submission> {
  const body = await readFields(request, maxBytes);
  const { id, trigger = "submit-message", messageId } = body;
  if (id !== undefined && (typeof id !== "string" || id === "")) throw invalid("id is the id of a chat.");
  if (messageId !== undefined && typeof messageId !== "string") throw invalid("messageId is the id of a message.");
  if (trigger !== "submit-message" && trigger !== "regenerate-message") {
    throw invalid("trigger is submit-message or regenerate-message.");
  }
  const messages = body.messages ?? (body.message === undefined ? [] : [body.message]);
  if (!Array.isArray(messages)) throw invalid("messages is an array.");
  if (messages.length === 0 && trigger === "submit-message") throw invalid("message or messages holds what to submit.");
  const last = messages.at(-1);
  if (isJsonObject(last) && last.parts === undefined && "content" in last) throw contentForParts(last);
  const submission: Submission = {
    chatId: id as string | undefined,
    trigger,
    messageId,
    messages: messages.filter(isMessage),
    body,
  };
  if (trigger === "submit-message") {
    const submitted = submittedMessage(submission);
    if (submitted.role === "user") assertQuestion(submitted);
  }
  return submission;
}

/** The message that a client submits: the answer that it names, or the last one. Errors: `INVALID_MESSAGE`. */
export function submittedMessage({ messages, messageId }: Submission): GivenMessage {
  const named = messages.find(({ id, role }) => id === messageId && role === "assistant");
  const given = named ?? messages.at(-1);
  if (given !== undefined) return given;
  const rule = "The last message is one of the user or of the assistant, with id and parts.";
  throw new StemmaError("INVALID_MESSAGE", {}, rule);
}

/** False for a user's message that cannot be stored. */
export function isQuestion(given: GivenMessage): boolean {
  try {
    assertQuestion(given);
    return true;
  } catch {
    return false;
  }
}

function assertQuestion(given: GivenMessage): void {
  const valid = validMessage(given);
  if (valid === null) throw noParts(given.id);
  assertEncodable(valid);
}

/** The error for a message of which nothing is left. */
export function noParts(messageId: string): StemmaError {
  return new StemmaError("INVALID_MESSAGE", { messageId }, `Message "${messageId}" has no part that the AI SDK knows.`);
}

export function readFields(request: Request, maxBytes: number): Promise<Record<string, unknown>> {
  return readJsonObject(request, { maxBytes, advice: "Send the last message only, or raise maxBodyBytes." });
}

function isMessage(value: unknown): value is GivenMessage {
  const { id, role, parts } = (value ?? {}) as Partial<Record<keyof SessionMessage, unknown>>;
  return typeof id === "string" && (role === "user" || role === "assistant") && Array.isArray(parts);
}

/** The ids that approved calls have in the tree, by those that they have in a request: a provider may not take the first. */
export type RenamedCalls = ReadonlyMap<string, string>;

/** Maps ids of approved calls of a message to those that are stored. */
export function renamedCalls(stored: UIMessage | null, sent: UIMessage | undefined): RenamedCalls {
  const [before, after] = [approvedCalls(stored), approvedCalls(sent)];
  const pairs = after.map((id, index) => [id, before[index] ?? id] as const);
  return new Map(pairs.filter(([id, original]) => id !== original));
}

/** The chunks with the ids that the calls have in the tree. */
export function withStoredIds(
  chunks: ReadableStream<UIMessageChunk>,
  renamed: RenamedCalls,
): ReadableStream<UIMessageChunk> {
  if (renamed.size === 0) return chunks;
  const restore = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      const original = "toolCallId" in chunk ? renamed.get(chunk.toolCallId) : undefined;
      controller.enqueue(original === undefined ? chunk : ({ ...chunk, toolCallId: original } as UIMessageChunk));
    },
  });
  return chunks.pipeThrough(restore);
}

function approvedCalls(message: UIMessage | null | undefined): string[] {
  return (message?.parts ?? []).flatMap((part) => {
    return isToolPart(part) && part.state === "approval-responded" ? [part.toolCallId] : [];
  });
}
