import { digestMessage, digestRange } from "../model/digest.js";
import { isSummaryMessage } from "../model/message.js";
import { invalidRange, staleRange } from "../model/tree-errors.js";
import type { CompactionGuard, NewCompaction, StoredCompaction } from "../storage/contract.js";
import type { SessionProvider } from "./provider.js";
import { type ProviderReader, summaryBehind } from "./provider-reader.js";

/** Has a provider lay a summary over a range. Errors: `COMPACTION_INVALID_RANGE`; `COMPACTION_STALE` where `guard` does not hold. */
export async function addSummary(
  provider: SessionProvider,
  reader: ProviderReader,
  sessionId: string,
  request: NewCompaction,
  guard: CompactionGuard | undefined,
): Promise<StoredCompaction> {
  const existing = await reader.compactions();
  const { summary } = request;
  // An end may be a summary: then its own range is meant.
  const fromMessageId = summaryBehind(request.fromMessageId, existing)?.fromMessageId ?? request.fromMessageId;
  const toMessageId = summaryBehind(request.toMessageId, existing)?.toMessageId ?? request.toMessageId;
  if (guard !== undefined && !(await holds(reader, request, guard))) throw staleRange(sessionId);
  const refuse = (why: string) => invalidRange(sessionId, { fromMessageId, toMessageId }, why);
  for (const id of [fromMessageId, toMessageId]) {
    if ((await reader.message(id)) === null) throw refuse(`message "${id}" is not in this session`);
  }
  const path = await provider.getHistory(toMessageId);
  // A provider that applies compactions itself may show a summary in the place of the range's start.
  const isShown = path.some(({ id }) => id === fromMessageId || isSummaryMessage({ id }));
  if (!isShown) throw refuse("the range is reversed, or its ends are not on one path");
  await provider.addCompaction(summary, fromMessageId, toMessageId);
  const known = new Set(existing.map(({ id }) => id));
  const added = (await reader.compactions()).find(({ id }) => !known.has(id));
  return added ?? { id: "", summary, fromMessageId, toMessageId, createdAt: new Date().toISOString() };
}

// Whether the range says what its summary was made of.
async function holds(
  reader: ProviderReader,
  { fromMessageId, toMessageId }: NewCompaction,
  { leafId, digest }: CompactionGuard,
): Promise<boolean> {
  if ((await reader.message(await reader.named(leafId))) === null) return false;
  const visible = await reader.history(leafId);
  const from = visible.findIndex(({ id }) => id === fromMessageId);
  const to = visible.findIndex(({ id }) => id === toMessageId);
  return from >= 0 && digestRange(visible.slice(from, to + 1).map(digestMessage)) === digest;
}
