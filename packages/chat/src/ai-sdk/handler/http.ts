import { type ErrorCode, StemmaError } from "@stemma/model";
import type { Awaitable, LearnDueOptions, RecallOptions, Session, SessionManager } from "@stemma/session";
import type { LanguageModel, LanguageModelUsage, StopCondition, streamText, TextStreamPart, ToolSet } from "ai";
import type { WhenBusy } from "../run/runs.js";
/** The answer of a handler that refuses, as JSON. `code` is a code of Stemma's errors where there is one. */
export interface ChatError {
  readonly error: { readonly code: string; readonly message: string };
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  SESSION_OWNED: 404,
  SESSION_NOT_FOUND: 404,
  MESSAGE_NOT_FOUND: 404,
  SESSION_BUSY: 409,
  ENTRY_CONFLICT: 409,
  RUN_LOST: 409,
  REQUEST_TOO_LARGE: 413,
  MESSAGE_TOO_LARGE: 413,
  BLOCK_READONLY: 403,
  INVALID_ARGUMENT: 400,
  BLOCK_OVER_BUDGET: 400,
  INVALID_MESSAGE: 400,
  INVALID_TEXT: 400,
  SEARCH_UNAVAILABLE: 501,
};

export function json(value: unknown, status = 200): Response {
  return Response.json(value, { status, headers: { "cache-control": "no-store" } });
}

export function refusal(status: number, code: string, message: string): Response {
  const body: ChatError = { error: { code, message } };
  return json(body, status);
}

/** Another user's chat is refused as one that is not there. */
export function notFound(): Response {
  return refusal(404, "NOT_FOUND", "There is no such chat, message or fact.");
}

/** The refusal that an error stands for; null for a fault of the server. */
export function refusalOf(error: unknown): Response | null {
  if (!StemmaError.isInstance(error)) return null;
  const status = STATUS[error.code];
  if (status === undefined) return null;
  return status === 404 ? notFound() : refusal(status, error.code, error.message);
}

/** True for a request that a page of another origin made a browser send. */
export function isForeign(request: Request, allowed: readonly string[]): boolean {
  const origin = request.headers.get("origin");
  if (origin === null) return request.headers.get("sec-fetch-site") === "cross-site";
  if (allowed.includes(origin)) return false;
  // Behind a proxy the URL is the server's own; the header says what the browser asked for.
  const hosts = [new URL(request.url).host, request.headers.get("host")];
  return !URL.canParse(origin) || !hosts.includes(new URL(origin).host);
}

/** Who sends a request. */
export interface ChatUser {
  readonly userId: string;
}

/** Facts about a request, when a model is to be asked. */
export interface ChatContext {
  readonly request: Request;
  readonly userId: string;
  readonly chatId: string;
  readonly session: Session;
  /** The body of the request, with what the client adds of its own. Not validated. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A value, or a function that gives it for a request. */
export type PerRequest<T> = T | ((context: ChatContext) => Awaitable<T>);

/** Settings of `streamText` other than those that the handler gives it. */
export type ModelSettings = Partial<
  Omit<Parameters<typeof streamText>[0], "model" | "tools" | "system" | "messages" | "prompt" | "abortSignal">
>;

export interface ChatHandlerOptions {
  /** The chats: each is a session. A user sees the user's own only. */
  sessions: SessionManager;
  model: PerRequest<LanguageModel>;
  /** The tools that the model is given beside the session's. One without `execute` is answered by the client. */
  tools?: PerRequest<ToolSet> | undefined;
  /** Says who sends a request; null refuses it with 401. */
  authenticate: (request: Request) => Awaitable<ChatUser | null>;
  /** The path that the routes stand under. Default `/api/chat`, which is the default of `useChat`. */
  basePath?: string | undefined;
  /**
   * Says whether a message that comes while the chat is being answered is to wait until that has ended (the default), or refuse
   * it with 409. One that waits is not stored yet, and is dropped if its client leaves.
   */
  whenBusy?: WhenBusy | undefined;
  /** Settings of `streamText`, as `temperature` or `providerOptions`. */
  settings?: PerRequest<ModelSettings> | undefined;
  /** When the model is not asked again after its tool calls were run. Default: after 20 steps. */
  stopWhen?: StopCondition<ToolSet> | StopCondition<ToolSet>[] | undefined;
  /** Origins beside the server's own whose pages may send requests, as `https://app.example.com`. */
  origins?: readonly string[] | undefined;
  /** Default 16 MiB. */
  maxBodyBytes?: number | undefined;
  /** How long a run counts as alive after its process last said so, in milliseconds. Default 10,000. */
  lease?: number | undefined;
  /** How long the model's provider keeps the prefix of a request, in milliseconds. Default 300,000. */
  cacheTtl?: number | undefined;
  /** Quotes what the user's other chats say about a message. Default: nothing. */
  recall?: Omit<RecallOptions, "userId"> | undefined;
  /**
   * Which chats of the user are learned from after an answer, where the manager has `onLearning` and the platform `waitUntil`; see
   * `SessionManager.learnDue`. Default: all that are due, this one too, at most 5, for 20 seconds.
   */
  learn?: Omit<LearnDueOptions, "deadline" | "dryRun"> | undefined;
  /** Gives the price of a step, in your currency. Default: nothing. */
  cost?: ((usage: LanguageModelUsage) => number) | undefined;
  /** Fields for the metadata of the answers, as for `toUIMessageStream`. */
  messageMetadata?: ((options: { part: TextStreamPart<ToolSet> }) => unknown) | undefined;
  /**
   * Gets every error of the server and of the model. What it gives is told to the client. Default: that an error occurred; of
   * `RUN_LOST` its message.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only logs gives nothing.
  onError?: ((error: unknown) => string | void) | undefined;
}

/** The object that a platform gives with a request, as a Worker's `ctx`. */
export interface RequestContext {
  waitUntil?(work: Promise<unknown>): void;
}

export type ChatHandler = (request: Request, context?: RequestContext) => Promise<Response>;
