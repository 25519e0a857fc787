import type { SessionMessage } from "../../model/message.js";
import { summaryMessage } from "../../model/overlay.js";
import type { ReadOptions } from "../contract.js";
import type { Runner } from "../engine/runner.js";
import { openView, readPage } from "./history.js";

const PAGE_BYTES = 128 * 1024;
const MAX_PAGE = 512;

/**
 * See `HistoryStore.stream`. The path is found when reading starts; each page is a transaction of its own, so a message
 * that is edited or deleted before its page is read is seen as it is then.
 */
export async function* streamPath(
  runner: Runner,
  sessionId: string,
  options: ReadOptions & { newestFirst?: boolean | undefined },
): AsyncGenerator<SessionMessage, void, undefined> {
  const view = await runner.read(() => openView(sessionId, options.leafId, options.onCorrupt));
  if (view === null) return;
  const newestFirst = options.newestFirst ?? false;
  const pieces = newestFirst ? view.pieces.slice().reverse() : view.pieces;
  let limit = 32;
  for (const piece of pieces) {
    if ("overlay" in piece) {
      yield summaryMessage(piece.overlay);
      continue;
    }
    const range = { ...piece.range };
    for (let more = true; more; ) {
      const page = await runner.read(() => readPage(view, range, { newestFirst, limit }, options.onCorrupt));
      yield* page.messages;
      if (newestFirst) range.hi = (page.last ?? 0) - 1;
      else range.lo = (page.last ?? 0) + 1;
      more = page.full;
      // Pages hold about as many bytes as each other, whatever the size of a message.
      const size = page.bytes.reduce((sum, bytes) => sum + bytes, 0);
      limit = Math.max(
        1,
        Math.min(MAX_PAGE, limit * 2, Math.floor((PAGE_BYTES * page.bytes.length) / Math.max(size, 1))),
      );
    }
  }
}
