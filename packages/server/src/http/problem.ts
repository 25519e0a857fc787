import { type ErrorCode, StemmaError } from "@stemma/model";

/** Why the server itself refuses a request, beside the library's codes. */
export type HttpCode = "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "UNSUPPORTED_MEDIA_TYPE" | "FOREIGN_HOST" | "INTERNAL";

/** The answer of a server that refuses or fails: `application/problem+json` of RFC 9457. */
export interface Problem {
  /** `urn:stemma:error:` and the code. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode | HttpCode;
  readonly detail: string;
  /** The subject of the error, such as `sessionId`. Empty for a fault of the server. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  410: "Gone",
  412: "Precondition failed",
  413: "Too large",
  415: "Unsupported media type",
  422: "Refused",
  429: "Too many requests",
  500: "The server failed",
  503: "Not available now",
};

const STATUS: Partial<Record<ErrorCode | HttpCode, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_MESSAGE: 400,
  INVALID_TEXT: 400,
  INVALID_LABEL: 400,
  UNKNOWN_FORMAT: 400,
  USER_REQUIRED: 400,
  FILE_REFUSED: 400,
  ARCHIVE_REFUSED: 400,
  NOT_ALLOWED: 401,
  FORBIDDEN: 403,
  BLOCK_READONLY: 403,
  WRITE_DENIED: 403,
  TOOL_REFUSED: 403,
  FOREIGN_HOST: 403,
  NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  MESSAGE_NOT_FOUND: 404,
  PARENT_NOT_FOUND: 404,
  COMPACTION_NOT_FOUND: 404,
  BLOCK_NOT_FOUND: 404,
  ENTRY_NOT_FOUND: 404,
  VERSION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  BLOCK_CONFLICT: 409,
  ENTRY_CONFLICT: 409,
  RECORD_CONFLICT: 409,
  OPERATION_CONFLICT: 409,
  COPY_CONFLICT: 409,
  LEAF_MOVED: 409,
  MESSAGE_EXISTS: 409,
  MESSAGE_CHANGED: 409,
  SESSION_BUSY: 409,
  SESSION_EXISTS: 409,
  SESSION_CONFLICT: 409,
  SESSION_OWNED: 409,
  COMPACTION_STALE: 409,
  COMPACTION_NOT_CONFIGURED: 409,
  TENANT_ERASED: 410,
  MESSAGE_TOO_LARGE: 413,
  REQUEST_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  BLOCK_INVALID: 422,
  BLOCK_OVER_BUDGET: 422,
  COMPACTION_INVALID_RANGE: 422,
  SESSION_LIMIT: 422,
  RATE_LIMITED: 429,
  QUOTA_EXCEEDED: 429,
  STORE_UNSUPPORTED: 422,
  SEARCH_UNAVAILABLE: 422,
  PROVIDER_REQUIRED: 422,
  TENANTS_BUSY: 503,
  STORE_LOCKED: 503,
  CONNECTION_LOST: 503,
  STORE_CLOSED: 503,
  MIGRATION_REQUIRED: 503,
  MODEL_BUSY: 503,
};

/** A refusal of the server itself. */
export class HttpRefusal extends Error {
  constructor(
    readonly code: HttpCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** The status that an error answers with: 500 for a fault of the server. `hasCondition`: the request named a version in `If-Match`. */
export function statusOf(error: unknown, hasCondition: boolean): number {
  const code = error instanceof HttpRefusal || StemmaError.isInstance(error) ? error.code : "INTERNAL";
  const status = STATUS[code] ?? 500;
  return status === 409 && hasCondition ? 412 : status;
}

/** The answer for what a route failed with. Of a fault of the server it tells nothing but the request's id. */
export function problemResponse(error: unknown, request: Request, requestId: string): Response {
  const status = statusOf(error, request.headers.has("if-match") || request.headers.has("if-none-match"));
  const isKnown = error instanceof HttpRefusal || StemmaError.isInstance(error);
  const code = isKnown ? error.code : "INTERNAL";
  const isFault = status === 500;
  const problem: Problem = {
    type: `urn:stemma:error:${code}`,
    title: TITLES[status] ?? "Refused",
    status,
    code,
    detail: isKnown && !isFault ? error.message : "The server failed. Its log says why, under this request's id.",
    details: StemmaError.isInstance(error) && !isFault ? error.details : {},
    requestId,
    retryable: status === 503 || status === 429,
  };
  return new Response(JSON.stringify(problem), {
    status,
    headers: {
      "content-type": "application/problem+json; charset=utf-8",
      "cache-control": "no-store",
      ...(error instanceof HttpRefusal ? error.headers : {}),
      ...retryAfter(error, status),
    },
  });
}

function retryAfter(error: unknown, status: number): Record<string, string> {
  const asked = status === 429 && StemmaError.isInstance(error) ? Number(error.details.retryAfter) : 1;
  return status === 429 || status === 503 ? { "retry-after": String(asked) } : {};
}
