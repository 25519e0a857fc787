import { type ErrorCode, StemmaError } from "../errors.js";

/** What the client did wrong, or finds otherwise than it expected: it is told the message. */
const TOLD: readonly ErrorCode[] = [
  "INVALID_ARGUMENT",
  "INVALID_TEXT",
  "SESSION_NOT_FOUND",
  "MESSAGE_NOT_FOUND",
  "BLOCK_NOT_FOUND",
  "BLOCK_OVER_BUDGET",
  "SEARCH_UNAVAILABLE",
  "CORRUPT_MESSAGE",
  "CORRUPT_ENTRY",
  "STORE_LOCKED",
  "CONNECTION_LOST",
];

/** What says that something is not there. */
export const ABSENT: readonly string[] = ["SESSION_NOT_FOUND", "SESSION_OWNED", "MESSAGE_NOT_FOUND", "BLOCK_NOT_FOUND"];

/** What the client is told of an error. Of a fault of the server or the database it learns the code; `onError` gets the error. */
export function messageOf(error: unknown, onError: (error: unknown) => void): string {
  if (StemmaError.isInstance(error)) {
    if (TOLD.includes(error.code)) return error.message;
    if (error.code === "SESSION_OWNED") return "There is no such session.";
  }
  onError(error);
  const code = StemmaError.isInstance(error) ? error.code : "INTERNAL";
  return `The memory's server failed (${code}). Its own output says why.`;
}
