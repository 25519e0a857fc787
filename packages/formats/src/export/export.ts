import { StemmaError } from "@stemma/model";
import type { Store } from "@stemma/store";
import { assertStore } from "@stemma/store";
import { findExportFormat } from "./export-formats.js";

/**
 * Writes a session as pieces of text, line ends included. The formats are `jsonl`, the default, which `importSession` makes
 * an equal session of, `markdown`, `html`, `openai` and `pi`. Errors: `STORE_UNSUPPORTED`; while it is read,
 * `UNKNOWN_FORMAT` and `SESSION_NOT_FOUND`.
 */
export function exportSession(store: Store, sessionId: string, format = "jsonl"): AsyncGenerator<string> {
  assertStore(store, "exportSession()");
  return piecesOf(store, sessionId, format);
}

async function* piecesOf(store: Store, sessionId: string, format: string): AsyncGenerator<string> {
  const { write } = findExportFormat(format);
  const info = await store.sessions.get(sessionId);
  if (info === null) throw new StemmaError("SESSION_NOT_FOUND", { sessionId }, `There is no session "${sessionId}".`);
  yield* write(store, info);
}
