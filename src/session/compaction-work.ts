import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { SessionContext } from "../context/session-context.js";
import { StemmaError } from "../errors.js";
import { digestMessage } from "../model/digest.js";
import type { SessionMessage } from "../model/message.js";
import { estimateTokens } from "../model/tokens.js";
import type { Store } from "../storage/contract.js";
import { askCompact } from "./compact-answer.js";
import type { CompactionPause } from "./compaction-pause.js";
import type { CompactionRun, CompactionRuns } from "./compaction-runs.js";
import type { SessionEvents } from "./events.js";
import type { SessionBackend } from "./provider.js";
import { type Seen, storeSummary } from "./store-summary.js";
import { withinTime } from "./time-limit.js";
import { TokenCount, type TokenCounter } from "./token-count.js";

/** Called with what a compaction failed with; what it throws itself is dropped. */
export type CompactionErrorHandler = (error: unknown) => void | Promise<void>;

export interface CompactorOptions {
  /** The store of the session; null where a provider of the host's keeps it. */
  readonly store: Store | null;
  readonly compact: CompactFunction | null;
  /** How long the function may take, in milliseconds: when `compact()` is called, and after a write. */
  readonly timeout: { readonly called: number; readonly automatic: number };
  /** Tokens above which a write compacts; null never. */
  readonly threshold: number | null;
  readonly tokenCounter: TokenCounter | null;
  readonly onError: CompactionErrorHandler | null;
  /** Runs after a compaction was stored, before the prompt is rendered anew. Never fails. */
  readonly onStored: () => Promise<void>;
}

/** How a compaction ended. */
export interface Outcome {
  readonly stored: CompactResult | null;
  /**
   * Of what was not stored: the summary was not worth it, the function had nothing to compact, it failed, or the history
   * changed under it.
   */
  readonly ending: "stored" | "fruitless" | "nothing" | "failed" | "stale";
  /** What a request holds now. */
  readonly kept: Kept;
}

/** Tokens of a request: of all of it, and of its parts. Those of messages are estimated. */
export interface Kept {
  readonly tokens: number;
  /** With what the counter of the host's adds. */
  readonly prompt: number;
  /** The messages before the summary; where none was stored, those that are never summarised. */
  readonly head: number;
  readonly summary: number;
  readonly tail: number;
}

/** Compacts: asks the compact function, stores what it gives under a guard, and renders the prompt anew. */
export class CompactionWork {
  readonly count: TokenCount;

  constructor(
    private readonly backend: SessionBackend,
    private readonly context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
    private readonly runs: CompactionRuns<Outcome>,
    private readonly pause: CompactionPause,
  ) {
    const { tokenCounter, timeout } = options;
    this.count = new TokenCount(backend, context, tokenCounter, (error) => this.fail(error), timeout.automatic);
  }

  /** Runs the function and stores its summary; `counted` are the tokens before it, where the trigger counted them. */
  async run(
    run: CompactionRun<Outcome>,
    compact: CompactFunction,
    timeout: number,
    counted: number | null,
  ): Promise<Outcome> {
    const messages = (await this.backend.path({ leafId: run.asked })).messages;
    const leafId = messages.at(-1)?.id;
    if (leafId === undefined) return NOTHING_THERE;
    const other = this.runs.onPath(run, messages);
    if (other !== undefined) return other.result;
    run.leafId = leafId;
    const seen: Seen = { messages, digests: messages.map(digestMessage), leafId };
    const tokensBefore = counted ?? (this.events.observed ? await this.count.of([...messages]) : null);
    this.report("compacting", tokensBefore ?? 0);
    const context = await this.count.compactContext(this.options.threshold);
    const { answer, failure, isEmpty } = await askCompact(compact, [...messages], context, timeout);
    const head = messages.slice(0, compact.protectHead ?? 0);
    const prompt = context.promptTokens ?? 0;
    const before = keptOf(tokensBefore ?? 0, prompt, { head, summary: [], tail: messages.slice(head.length) });
    let after: SessionMessage[] | null = null;
    try {
      const stored = answer === null ? null : await storeSummary(this.backend, answer, seen);
      if (stored === null) {
        const isNothing = answer === null && !isEmpty;
        const ending = failure !== null ? "failed" : isNothing ? "nothing" : "fruitless";
        return { stored: null, ending, kept: before };
      }
      after = [...stored.head, stored.summary, ...stored.tail];
      const tokens = await this.#rest(run, after);
      // What blocks and listeners do from here on may well ask for another compaction.
      this.runs.end(run);
      this.events.emit({ type: "messages", change: "compaction", ids: [stored.id] });
      await this.options.onStored();
      await this.#refreshPrompt(timeout);
      const kept = keptOf(tokens, prompt, { ...stored, summary: [stored.summary] });
      return { stored: stored.result, ending: "stored", kept };
    } catch (error) {
      // Another process was faster, or the range was edited: what is there now stands.
      if (!StemmaError.isInstance(error, "COMPACTION_STALE")) throw error;
      return { stored: null, ending: "stale", kept: before };
    } finally {
      await this.#reportEnd(seen, tokensBefore, after);
      if (failure !== null) await this.fail(failure.error);
    }
  }

  /** Tells listeners how large the history is. */
  report(phase: "idle" | "compacting", tokenEstimate: number, compacted?: { tokensBefore: number }): void {
    if (!this.events.observed) return;
    const { threshold } = this.options;
    this.events.emit({
      type: "cf_agent_session",
      phase,
      tokenEstimate,
      tokenThreshold: threshold,
      ...(compacted === undefined ? {} : { compacted }),
    });
  }

  /** Tells listeners and the handler of an error. Never fails. */
  async fail(error: unknown): Promise<void> {
    this.events.emitError(error, this.options.onError !== null);
    try {
      await this.options.onError?.(error);
    } catch {
      // The documents say so: a handler's own failure must not reach the caller of a write that is stored.
    }
  }

  // Of a compacted path begins the pause of the automatic trigger, whoever asked for it. Gives the tokens that there are now.
  async #rest({ asked }: CompactionRun<Outcome>, after: SessionMessage[]): Promise<number> {
    const { threshold } = this.options;
    if (threshold === null || asked !== undefined) return 0;
    const tokens = await this.count.of([...after]);
    try {
      await this.pause.begin({ tokens, messages: estimateTokens(after) }, threshold / 2);
    } catch (error) {
      await this.fail(error);
    }
    return tokens;
  }

  // The provider's cached prefix ends at the summary anyway. The compaction is stored, whatever becomes of this.
  async #refreshPrompt(timeout: number): Promise<void> {
    const refresh = async () => {
      if ((await this.context.prompt.known()) !== null) await this.context.prompt.refresh();
    };
    try {
      await withinTime(refresh(), timeout, "A provider of the prompt");
    } catch (error) {
      await this.fail(error);
    }
  }

  // Counts what was read before, with the summary in it: reading once more could fail a call whose summary is stored.
  async #reportEnd(seen: Seen, counted: number | null, after: SessionMessage[] | null): Promise<void> {
    if (!this.events.observed) return;
    const tokensBefore = counted ?? (await this.count.of([...seen.messages]));
    if (after === null) this.report("idle", tokensBefore);
    else this.report("idle", await this.count.of(after), { tokensBefore });
  }
}

const NOTHING_THERE: Outcome = {
  stored: null,
  ending: "stale",
  kept: { tokens: 0, prompt: 0, head: 0, summary: 0, tail: 0 },
};

function keptOf(
  tokens: number,
  prompt: number,
  { head, summary, tail }: Readonly<Record<"head" | "summary" | "tail", readonly SessionMessage[]>>,
): Kept {
  return { tokens, prompt, head: estimateTokens(head), summary: estimateTokens(summary), tail: estimateTokens(tail) };
}
