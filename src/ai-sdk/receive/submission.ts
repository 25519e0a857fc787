import { StemmaError } from "../../errors.js";
import { isJsonObject } from "../../model/json-object.js";
import type { SessionMessage } from "../../model/message.js";

/** What `useChat` posts: the last message or the whole list, and what for. */
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

/** Reads the body of a request. Errors: `REQUEST_TOO_LARGE`, `INVALID_ARGUMENT`, `INVALID_MESSAGE`. */
export async function readSubmission(request: Request, maxBytes: number): Promise<Submission> {
  const body = parse(await readText(request, maxBytes));
  const { id, trigger = "submit-message", messageId } = body;
  if (id !== undefined && (typeof id !== "string" || id === "")) throw invalid("id is the id of a chat");
  if (messageId !== undefined && typeof messageId !== "string") throw invalid("messageId is the id of a message");
  if (trigger !== "submit-message" && trigger !== "regenerate-message") {
    throw invalid("trigger is submit-message or regenerate-message");
  }
  const messages = body.messages ?? (body.message === undefined ? [] : [body.message]);
  if (!Array.isArray(messages)) throw invalid("messages is an array");
  if (messages.length === 0 && trigger === "submit-message") throw invalid("message or messages holds what to submit");
  return { chatId: id as string | undefined, trigger, messageId, messages: messages.filter(isMessage), body };
}

/** Reads a JSON object. Errors: `REQUEST_TOO_LARGE`, `INVALID_ARGUMENT`. */
export async function readFields(request: Request, maxBytes: number): Promise<Record<string, unknown>> {
  return parse(await readText(request, maxBytes));
}

function parse(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    if (isJsonObject(body)) return body;
  } catch {
    // Said below.
  }
  throw invalid("The body of the request is a JSON object");
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  const reader = request.body?.getReader();
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    size += read.value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      throw tooLarge(maxBytes);
    }
    text += decoder.decode(read.value, { stream: true });
  }
  return text + decoder.decode();
}

function isMessage(value: unknown): value is GivenMessage {
  const { id, role, parts } = (value ?? {}) as Partial<Record<keyof SessionMessage, unknown>>;
  return typeof id === "string" && (role === "user" || role === "assistant") && Array.isArray(parts);
}

function invalid(rule: string): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", {}, `${rule}.`);
}

function tooLarge(maxBytes: number): StemmaError {
  const message = `The request is larger than ${maxBytes} bytes. Send the last message only, or raise maxBodyBytes.`;
  return new StemmaError("REQUEST_TOO_LARGE", { maxBytes }, message);
}
