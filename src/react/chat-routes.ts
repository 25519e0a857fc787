import type { UIMessage } from "ai";
import type { ChatError, ChatPage } from "../ai-sdk.js";
import { StemmaError } from "../errors.js";

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
