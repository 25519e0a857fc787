import { type ErrorCode, StemmaError } from "../../errors.js";

/** What a handler answers when it refuses, as JSON. `code` is a code of Stemma's errors where there is one. */
export interface ChatError {
  readonly error: { readonly code: string; readonly message: string };
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  SESSION_OWNED: 404,
  SESSION_NOT_FOUND: 404,
  MESSAGE_NOT_FOUND: 404,
  SESSION_BUSY: 409,
  RUN_LOST: 409,
  REQUEST_TOO_LARGE: 413,
  MESSAGE_TOO_LARGE: 413,
  INVALID_ARGUMENT: 400,
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
  return refusal(404, "NOT_FOUND", "There is no such chat or message.");
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
