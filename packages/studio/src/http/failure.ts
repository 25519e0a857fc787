import { type ErrorCode, StemmaError } from "@stemma/model";
import type { StudioFailure } from "../api.js";

/** Why the server itself refuses a request, beside the library's codes. */
type RefusalCode = "NOT_ALLOWED" | "NOT_FOUND" | "READ_ONLY" | "BAD_REQUEST" | "INTERNAL";

/** An answer that a route gives instead of a result. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly failure: StudioFailure,
  ) {}
}

export function refusal(status: number, code: RefusalCode, message: string): Refusal {
  return new Refusal(status, { code, message });
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  FORBIDDEN: 403,
  SESSION_NOT_FOUND: 404,
  // Another user's session is not there for this one.
  SESSION_OWNED: 404,
  MESSAGE_NOT_FOUND: 404,
  PARENT_NOT_FOUND: 404,
  COMPACTION_NOT_FOUND: 404,
  BLOCK_NOT_FOUND: 404,
  VERSION_NOT_FOUND: 404,
  BLOCK_CONFLICT: 409,
  ENTRY_CONFLICT: 409,
  LEAF_MOVED: 409,
  MESSAGE_EXISTS: 409,
  COMPACTION_STALE: 409,
  COMPACTION_NOT_CONFIGURED: 409,
  INVALID_ARGUMENT: 400,
  INVALID_MESSAGE: 400,
  INVALID_TEXT: 400,
  BLOCK_INVALID: 400,
  BLOCK_OVER_BUDGET: 400,
  BLOCK_READONLY: 400,
  COMPACTION_INVALID_RANGE: 400,
  SEARCH_UNAVAILABLE: 400,
  UNKNOWN_FORMAT: 400,
  MESSAGE_TOO_LARGE: 413,
  REQUEST_TOO_LARGE: 413,
  STORE_LOCKED: 503,
  CONNECTION_LOST: 503,
};

/** The answer for whatever a route failed with. What is a fault of the server goes to `onError`, and not to the page. */
export function failed(error: unknown, onError: ((error: unknown) => void) | undefined): Response {
  if (error instanceof Refusal) return respondJson(error.failure, error.status);
  const status = StemmaError.isInstance(error) ? STATUS[error.code] : undefined;
  if (status !== undefined && StemmaError.isInstance(error)) {
    const { code, message } = error;
    const failure: StudioFailure =
      code === "SESSION_OWNED"
        ? { code: "SESSION_NOT_FOUND", message: "There is no such session." }
        : { code, message };
    return respondJson(failure, status);
  }
  onError?.(error);
  const code = StemmaError.isInstance(error) ? error.code : "INTERNAL";
  return respondJson({ code, message: "The server failed. Its own output says why." }, 500);
}

/** Nothing from elsewhere, no inline script, no text made into HTML. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;

/** An answer with the headers of every answer; `headers` replace them by name. */
export function respond(
  body: BodyInit | null,
  { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> },
): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers } });
}

export function respondJson(value: unknown, status = 200): Response {
  return respond(JSON.stringify(value), { status, headers: { "content-type": "application/json; charset=utf-8" } });
}

/** Where a browser says that a request comes from, if it is the page itself or the user: a link that was typed or clicked elsewhere. */
const OWN_SITES = ["same-origin", "none"];

/**
 * Refuses a request that a page of another origin made a browser send, and one to a host that is not among `hosts`; null for
 * any other. A name that leads to this machine for a moment (DNS rebinding) is such a host.
 */
export function refusalOfOrigin(request: Request, hosts: readonly string[] | undefined): Refusal | null {
  const url = new URL(request.url);
  const named = [url.host, request.headers.get("host") ?? url.host];
  if (hosts !== undefined && !named.every((host) => hosts.includes(host.toLowerCase()))) {
    return refusal(403, "NOT_ALLOWED", "This host is not known here.");
  }
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && !OWN_SITES.includes(site)) {
    return refusal(403, "NOT_ALLOWED", "Another site may not send requests here. Open the address itself.");
  }
  const origin = request.headers.get("origin");
  // Behind a proxy the URL is the server's own; the header says what the browser asked for.
  if (origin !== null && !(URL.canParse(origin) && named.includes(new URL(origin).host))) {
    return refusal(403, "NOT_ALLOWED", "Another origin may not send requests here.");
  }
  return null;
}
