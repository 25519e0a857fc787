import type { CompactContext, CompactFunction, CompactResult } from "@stemma/model";
import {
  digestMessage,
  digestRange,
  estimateMessageTokens,
  estimateTokensInPieces,
  inPieces,
  invalid,
  isSummaryMessage,
  mapped,
  type SessionMessage,
  StemmaError,
  SUMMARY_ID_PREFIX,
  summaryMessage,
} from "@stemma/model";
import type { SessionBackend } from "../own-provider/provider.js";
import type { CompactionRun, CompactionWork, Kept, Outcome } from "./compaction-work.js";
import { withinTime } from "./time-limit.js";

/** What a compaction works on. */
interface Asked {
  readonly run: CompactionRun<Outcome>;
  /** The visible history. */
  readonly messages: SessionMessage[];
  readonly compact: CompactFunction;
  readonly timeout: number;
  /** The tokens before it, where the trigger counted them. */
  readonly counted: number | null;
}

const NOTHING_THERE: Outcome = {
  stored: null,
  ending: "stale",
  kept: { tokens: 0, prompt: 0, head: 0, summary: 0, tail: 0 },
};

/**
 * Compacts: asks the compact function, stores what it gives under a guard, and renders the prompt anew. Errors: those of the store, `COMPACTION_INVALID_RANGE`.
 */
export async function runCompaction(
  work: CompactionWork,
  { run, messages, compact, timeout, counted }: Asked,
): Promise<Outcome> {
  const leafId = messages.at(-1)?.id;
  if (leafId === undefined) return NOTHING_THERE;
  const other = work.runs.onPath(run, messages);
  if (other !== undefined) return other.result;
  run.leafId = leafId;
  const seen: Seen = { messages, digests: await inPieces(mapped(messages, digestMessage)), leafId };
  const tokensBefore = counted ?? (work.events.observed ? await work.count.of([...messages]) : null);
  work.report("compacting", tokensBefore ?? 0);
  const context = await work.count.compactContext(work.options.threshold);
  const { answer, failure, isEmpty } = await askCompact(compact, [...messages], context, timeout);
  const head = messages.slice(0, compact.protectHead ?? 0);
  const prompt = context.promptTokens ?? 0;
  const before = await keptOf(tokensBefore ?? 0, prompt, { head, summary: [], tail: messages.slice(head.length) });
  let after: SessionMessage[] | null = null;
  try {
    const stored = answer === null ? null : await storeSummary(work.backend, answer, seen);
    if (stored === null) {
      const isNothing = answer === null && !isEmpty;
      const ending = failure !== null ? "failed" : isNothing ? "nothing" : "fruitless";
      return { stored: null, ending, kept: before };
    }
    after = [...stored.head, stored.summary, ...stored.tail];
    const tokens = await restAfter(work, run, after);
    // What blocks and listeners do from here on may well ask for another compaction.
    work.runs.end(run);
    work.events.emit({ type: "messages", change: "compaction", ids: [stored.id] });
    await work.options.onStored();
    await refreshPrompt(work, timeout);
    const kept = await keptOf(tokens, prompt, { ...stored, summary: [stored.summary] });
    return { stored: stored.result, ending: "stored", kept };
  } catch (error) {
    // Another process was faster, or the range was edited: what is there now stands.
    if (!StemmaError.isInstance(error, "COMPACTION_STALE")) throw error;
    return { stored: null, ending: "stale", kept: before };
  } finally {
    await reportEnd(work, seen, tokensBefore, after);
    if (failure !== null) await work.fail(failure.error);
  }
}

// Of a compacted path begins the pause of the automatic trigger, whoever asked for it. Gives the tokens that there are now.
async function restAfter(
  work: CompactionWork,
  { asked }: CompactionRun<Outcome>,
  after: readonly SessionMessage[],
): Promise<number> {
  const { threshold } = work.options;
  if (threshold === null || asked !== undefined) return 0;
  const tokens = await work.count.of([...after]);
  try {
    await work.pause.begin({ tokens, messages: await estimateTokensInPieces(after) }, threshold / 2);
  } catch (error) {
    await work.fail(error);
  }
  return tokens;
}

// The provider's cached prefix ends at the summary anyway. The compaction is stored, whatever becomes of this.
async function refreshPrompt(work: CompactionWork, timeout: number): Promise<void> {
  const { prompt } = work.context;
  const refresh = async () => {
    if ((await prompt.known()) !== null) await prompt.refresh();
  };
  try {
    await withinTime(refresh(), timeout, "A provider of the prompt");
  } catch (error) {
    await work.fail(error);
  }
}

// Counts what was read before, with the summary in it: reading once more could fail a call whose summary is stored.
async function reportEnd(
  work: CompactionWork,
  seen: Seen,
  counted: number | null,
  after: readonly SessionMessage[] | null,
): Promise<void> {
  if (!work.events.observed) return;
  const tokensBefore = counted ?? (await work.count.of([...seen.messages]));
  if (after === null) work.report("idle", tokensBefore);
  else work.report("idle", await work.count.of([...after]), { tokensBefore });
}

async function keptOf(
  tokens: number,
  prompt: number,
  parts: Readonly<Record<"head" | "summary" | "tail", readonly SessionMessage[]>>,
): Promise<Kept> {
  const head = await estimateTokensInPieces(parts.head);
  const summary = await estimateTokensInPieces(parts.summary);
  return { tokens, prompt, head, summary, tail: await estimateTokensInPieces(parts.tail) };
}

/** What a compact function gave, or failed with. */
interface CompactAnswer {
  readonly answer: CompactResult | null;
  readonly failure: { readonly error: unknown } | null;
  /** True when it asked a model, which answered nothing. */
  readonly isEmpty: boolean;
}

/** Calls a compact function, which may fail, give no answer in time, or one that is none. */
async function askCompact(
  compact: CompactFunction,
  messages: SessionMessage[],
  context: CompactContext,
  timeout: number,
): Promise<CompactAnswer> {
  let isEmpty = false;
  const onEmptyAnswer = () => {
    isEmpty = true;
  };
  try {
    const given = Promise.resolve(compact(messages, { ...context, onEmptyAnswer }));
    return { answer: checkedResult(await withinTime(given, timeout)), failure: null, isEmpty };
  } catch (error) {
    return { answer: null, failure: { error }, isEmpty };
  }
}

function checkedResult(given: CompactResult | null | undefined): CompactResult | null {
  if (given === null || given === undefined) return null;
  const { fromMessageId, toMessageId, summary } = given;
  if ([fromMessageId, toMessageId, summary].every((field) => typeof field === "string")) return given;
  throw invalid("A compact function resolves to { fromMessageId, toMessageId, summary }, three texts, or to null.");
}

/** A visible history as it was read, and what its messages said then: a compact function may change what it is given. */
interface Seen {
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
async function storeSummary(
  backend: SessionBackend,
  answer: CompactResult,
  { messages, digests, leafId }: Seen,
): Promise<StoredSummary | null> {
  // A model may stop in the middle of a character, which no store keeps.
  const summary = answer.summary.replaceAll("\0", "").toWellFormed();
  if (summary.trim() === "") return null;
  const { from, to } = await rangeOf(backend, answer, messages);
  const range = messages.slice(from, to + 1);
  const replaced = await estimateTokensInPieces(range);
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
