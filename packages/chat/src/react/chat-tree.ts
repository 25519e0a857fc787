import type { UseChatHelpers } from "@ai-sdk/react";
import { StemmaError } from "@stemma/model";
import type { ChatInit, UIMessage } from "ai";
import type { ChatPage } from "../ai-sdk/handler/chats.js";
import type { ChatError } from "../ai-sdk/handler/http.js";
/** The options of `useChat` but its transport, which this hook makes, and where the chat is served. */
export interface ChatTreeOptions<M extends UIMessage = UIMessage>
  extends Omit<ChatInit<M>, "transport">,
    ChatRoutesOptions {
  /** True when the `id` is that of a chat which begins here: it is not loaded, since it is not stored yet. Default: false. */
  isNew?: boolean | undefined;
  /** Sent with each message, beside it. */
  body?: object | undefined;
  /** Renders at most once in so many milliseconds while an answer streams. Default: with each piece. */
  throttle?: number | undefined;
}

export interface Siblings {
  /** From 0, in the order in which they were written. */
  readonly index: number;
  /** 1 for a message without siblings. */
  readonly count: number;
  /** The id to give to `select` for the message before; null for the first. */
  readonly previous: string | null;
  readonly next: string | null;
}

/** The result of `useChat`, and the tree. */
export interface ChatTree<M extends UIMessage = UIMessage> extends Omit<UseChatHelpers<M>, "stop"> {
  /** True until the stored messages are there. */
  readonly isLoading: boolean;
  readonly siblings: (messageId: string) => Siblings;
  /** Shows the branch below a message, and goes on there. Errors: `REQUEST_REFUSED`. */
  readonly select: (messageId: string) => Promise<void>;
  /** Asks something else in place of a message of the user. The old one stays as its sibling. */
  readonly edit: (messageId: string, message: string | Pick<M, "parts">) => Promise<void>;
  /** Stops the answer on the server. Resolves to false when it had ended before. Errors: `REQUEST_REFUSED`. */
  readonly stop: () => Promise<boolean>;
  /** True when there are messages before those shown. */
  readonly hasPrevious: boolean;
  /** Errors: `REQUEST_REFUSED`. */
  readonly loadPrevious: () => Promise<void>;
  /** The summaries that stand for older messages in what the model sees, those of other branches too; oldest first. */
  readonly compactions: ChatPage<M>["compactions"];
  /**
   * Shows the chat as it is stored now, and the answer that is under way: after another tab wrote, or the connection was lost.
   * Does nothing while this tab receives an answer. Errors: `REQUEST_REFUSED`.
   */
  readonly reload: () => Promise<void>;
}

/** The place of a message among `ids`, its siblings. */
export function placeOf(messageId: string, ids: readonly string[] = [messageId]): Siblings {
  const index = Math.max(ids.indexOf(messageId), 0);
  return { index, count: ids.length, previous: ids[index - 1] ?? null, next: ids[index + 1] ?? null };
}

/** Where the chat is served, and what is sent along with each request to it. */
export interface ChatRoutesOptions {
  /** The `basePath` of the handler. Default `/api/chat`. */
  api?: string | undefined;
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>) | undefined;
  credentials?: RequestCredentials | undefined;
  fetch?: typeof fetch | undefined;
}

export const DEFAULT_API = "/api/chat";

// Errors of all calls: `REQUEST_REFUSED`; what `fetch` throws when the server cannot be reached.

/** The newest messages, or those before one. Null for a chat that is not stored yet. */
export async function readChat<M extends UIMessage>(
  options: ChatRoutesOptions,
  chatId: string,
  before: string | null,
): Promise<ChatPage<M> | null> {
  const query = before === null ? "" : `?before=${encodeURIComponent(before)}`;
  const response = await request(options, `/${encodeURIComponent(chatId)}${query}`, {});
  return response.status === 404 ? null : json(response);
}

/** Makes the newest branch below a message the active one. */
export async function selectMessage<M extends UIMessage>(
  options: ChatRoutesOptions,
  chatId: string,
  messageId: string,
): Promise<ChatPage<M>> {
  return json(await post(options, `/${encodeURIComponent(chatId)}/select`, { messageId }));
}

/** False when the run had ended, or another one has begun. */
export async function stopRun(options: ChatRoutesOptions, chatId: string, runId: string): Promise<boolean> {
  const response = await post(options, `/${encodeURIComponent(chatId)}/stop`, { runId });
  return (await json<{ stopped: boolean }>(response)).stopped;
}

function post(options: ChatRoutesOptions, path: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return request(options, path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function request(options: ChatRoutesOptions, path: string, init: RequestInit): Promise<Response> {
  const { api = DEFAULT_API, headers, credentials, fetch: send = globalThis.fetch } = options;
  const own = typeof headers === "function" ? await headers() : headers;
  return send(api + path, {
    ...init,
    headers: { ...own, ...(init.headers as Record<string, string> | undefined) },
    ...(credentials === undefined ? {} : { credentials }),
  });
}

// Errors: `REQUEST_REFUSED`, with the HTTP status and the server's code; null where the server gave none.
async function json<T>(response: Response): Promise<T> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => null);
  if (response.ok && body !== null) return body as T;
  const { code = null, message } = (body as Partial<ChatError> | null)?.error ?? {};
  const unknown = `The server answered ${status} without JSON. Look whether it runs, and whether \`api\` is the basePath of the handler.`;
  throw new StemmaError("REQUEST_REFUSED", { status, code }, message ?? unknown);
}
