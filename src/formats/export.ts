import { StemmaError } from "../errors.js";
import type { Store } from "../storage/contract.js";
import { findExportFormat } from "./export-formats.js";

/**
 * Writes a session as pieces of text, line ends included. The formats are `jsonl`, the default, which `importSession` makes
 * an equal session of, `markdown`, `html`, `openai` and `pi`. Errors: `UNKNOWN_FORMAT`, `SESSION_NOT_FOUND`.
 */
export async function* exportSession(store: Store, sessionId: string, format = "jsonl"): AsyncGenerator<string> {
  const { write } = findExportFormat(format);
  const info = await store.sessions.get(sessionId);
  if (info === null) throw new StemmaError("SESSION_NOT_FOUND", { sessionId }, `There is no session "${sessionId}".`);
  yield* write(store, info);
}
