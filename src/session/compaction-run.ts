import type { CompactFunction } from "../compaction/compact.js";
import { StemmaError } from "../errors.js";
import { inTurns, mapped } from "../event-loop.js";
import { digestMessage } from "../model/digest.js";
import type { SessionMessage } from "../model/message.js";
import { estimateTokensInTurns } from "../model/tokens.js";
import { askCompact } from "./compact-answer.js";
import type { CompactionRun } from "./compaction-runs.js";
import type { CompactionWork, Kept, Outcome } from "./compaction-work.js";
import { type Seen, storeSummary } from "./store-summary.js";
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
  const seen: Seen = { messages, digests: await inTurns(mapped(messages, digestMessage)), leafId };
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
    await work.pause.begin({ tokens, messages: await estimateTokensInTurns(after) }, threshold / 2);
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
  const head = await estimateTokensInTurns(parts.head);
  const summary = await estimateTokensInTurns(parts.summary);
  return { tokens, prompt, head, summary, tail: await estimateTokensInTurns(parts.tail) };
}
