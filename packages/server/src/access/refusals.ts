import { StemmaError } from "@stemma/model";

/** The error for what a principal may not do. */
export function forbidden(message: string): StemmaError {
  return new StemmaError("FORBIDDEN", {}, message);
}

/** The error for a session that is not there, or not for this principal: nobody can tell the two apart. */
export function notThere(sessionId: string): StemmaError {
  return new StemmaError("SESSION_NOT_FOUND", { sessionId }, `There is no session "${sessionId}".`);
}
