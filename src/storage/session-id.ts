import { StemmaError } from "../errors.js";
import { assertStorableText } from "../model/text.js";

/** The session id below which an upgrade keeps the blocks and entries that `agents` wrote. No session has it. */
export const UPGRADED_ROWS = "agents_before_upgrade";

/** Errors: `INVALID_TEXT`, and `INVALID_ARGUMENT` for the id that is reserved. */
export function assertSessionId(sessionId: string): void {
  assertStorableText(sessionId, "A session id");
  if (sessionId !== UPGRADED_ROWS) return;
  const message = `The session id "${UPGRADED_ROWS}" is reserved for rows of an upgraded database; choose another one.`;
  throw new StemmaError("INVALID_ARGUMENT", { sessionId }, message);
}
