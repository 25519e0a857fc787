import type { CompactResult } from "../compaction/compact.js";
import { StemmaError } from "../errors.js";
import { summaryMessage } from "../model/compactions.js";
import { digestRange } from "../model/digest.js";
import { isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX } from "../model/message.js";
import { estimateMessageTokens, estimateTokensInTurns } from "../model/tokens.js";
import type { SessionBackend } from "./provider.js";

/** A visible history as it was read, and what its messages said then: a compact function may change what it is given. */
export interface Seen {
  readonly messages: readonly SessionMessage[];
  readonly digests: readonly string[];
  readonly leafId: string;
}

/** A compaction that was stored, and the visible history with it: the summary, and what stands before and behind it. */
interface StoredSummary {
  readonly id: string;
  readonly result: CompactResult;
  readonly head: SessionMessage[];
  readonly summary: SessionMessage;
  readonly tail: SessionMessage[];
}

/**
 * Stores what a compact function gave, if it is worth it; null where it is not. Errors:
 * `COMPACTION_STALE` when the range says something else now, `COMPACTION_INVALID_RANGE`.
 */
export async function storeSummary(
  backend: SessionBackend,
  answer: CompactResult,
  { messages, digests, leafId }: Seen,
): Promise<StoredSummary | null> {
  // A model may stop in the middle of a character, which no store keeps.
  const summary = answer.summary.replaceAll("\0", "").toWellFormed();
  if (summary.trim() === "") return null;
  const { from, to } = await rangeOf(backend, answer, messages);
  const range = messages.slice(from, to + 1);
  const replaced = await estimateTokensInTurns(range);
  if (replaced <= estimateMessageTokens(summaryMessage({ id: "", summary }))) return null;
  const [fromMessageId, toMessageId] = [(range[0] as SessionMessage).id, (range.at(-1) as SessionMessage).id];
  const expect = { leafId, digest: digestRange(digests.slice(from, to + 1)) };
  const compaction = await backend.addCompaction(
    { id: crypto.randomUUID(), summary, fromMessageId, toMessageId },
    expect,
  );
  return {
    id: compaction.id,
    result: { fromMessageId: compaction.fromMessageId, toMessageId: compaction.toMessageId, summary },
    head: messages.slice(0, from),
    summary: summaryMessage(compaction),
    tail: messages.slice(to + 1),
  };
}

// Where in the visible history the range lies. It begins with the earliest summary at the latest, so that one remains.
async function rangeOf(
  backend: SessionBackend,
  { fromMessageId, toMessageId }: CompactResult,
  messages: readonly SessionMessage[],
): Promise<{ from: number; to: number }> {
  const from = await placeOf(backend, fromMessageId, messages);
  const to = await placeOf(backend, toMessageId, messages);
  if (from < 0 || to < from) {
    const message = `A summary cannot cover "${fromMessageId}" to "${toMessageId}": the compact function was not given that range.`;
    const details = { sessionId: backend.id, fromMessageId, toMessageId };
    throw new StemmaError("COMPACTION_INVALID_RANGE", details, message);
  }
  const earliest = messages.findIndex(isSummaryMessage);
  return { from: earliest < 0 ? from : Math.min(earliest, from), to };
}

// A function that keeps ids by itself may name a message that lies under a summary by now.
async function placeOf(backend: SessionBackend, id: string, messages: readonly SessionMessage[]): Promise<number> {
  const visible = messages.findIndex((message) => message.id === id);
  if (visible >= 0) return visible;
  for (const [index, message] of messages.entries()) {
    if (!isSummaryMessage(message)) continue;
    const under = await backend.originals(message.id.slice(SUMMARY_ID_PREFIX.length));
    if (under.some((original) => original.id === id)) return index;
  }
  return -1;
}
