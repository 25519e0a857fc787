import { type ErrorCode, StemmaError } from "@stemma/model";
import type { StudioFailure } from "../api.js";
import { respondJson } from "./headers.js";

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
  SESSION_NOT_FOUND: 404,
  // Another user's session is not there for this one.
  SESSION_OWNED: 404,
  MESSAGE_NOT_FOUND: 404,
  PARENT_NOT_FOUND: 404,
  COMPACTION_NOT_FOUND: 404,
  BLOCK_NOT_FOUND: 404,
  VERSION_NOT_FOUND: 404,
  BLOCK_CONFLICT: 409,
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
