import type { UIMessage } from "ai";
import type { ChatError, ChatPage } from "../ai-sdk.js";

/** Where the chat is served, and what is sent along with each request to it. */
export interface ChatRoutesOptions {
  /** The `basePath` of the handler. Default `/api/chat`. */
  api?: string | undefined;
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>) | undefined;
  credentials?: RequestCredentials | undefined;
  fetch?: typeof fetch | undefined;
}

export const DEFAULT_API = "/api/chat";

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

async function json<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const body = (await response.json().catch(() => null)) as ChatError | null;
  throw new Error(body?.error.message ?? `The server answered ${response.status}.`);
}
