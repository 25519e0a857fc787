import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { SessionContext } from "../context/session-context.js";
import { StemmaError } from "../errors.js";
import { digestMessage } from "../model/digest.js";
import type { SessionMessage } from "../model/message.js";
import type { Store } from "../storage/contract.js";
import { askCompact } from "./compact-answer.js";
import type { CompactionRun, CompactionRuns } from "./compaction-runs.js";
import type { SessionEvents } from "./events.js";
import type { SessionBackend } from "./provider.js";
import type { Seen } from "./store-summary.js";
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
  /** The function had nothing to gain. Not so when it failed, or the history changed under it: the next one may succeed. */
  readonly fruitless: boolean;
}

const NOTHING_STORED: Outcome = { stored: null, fruitless: false };

/** Compacts: asks the compact function, stores what it gives under a guard, and renders the prompt anew. */
export class CompactionWork {
  readonly count: TokenCount;

  constructor(
    private readonly backend: SessionBackend,
    private readonly context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
    private readonly runs: CompactionRuns<Outcome>,
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
    if (leafId === undefined) return NOTHING_STORED;
    const other = this.runs.onPath(run, messages);
    if (other !== undefined) return other.result;
    run.leafId = leafId;
    const seen: Seen = { messages, digests: messages.map(digestMessage), leafId };
    const tokensBefore = counted ?? (this.events.observed ? await this.count.of([...messages]) : null);
    this.report("compacting", tokensBefore ?? 0);
    const [{ answer, failure }, { storeSummary }] = await Promise.all([
      askCompact(compact, [...messages], this.count.compactContext(), timeout),
      import("./store-summary.js"),
    ]);
    let after: SessionMessage[] | null = null;
    try {
      const stored = answer === null ? null : await storeSummary(this.backend, answer, seen);
      if (stored === null) return { stored: null, fruitless: failure === null };
      after = stored.after;
      // What blocks and listeners do from here on may well ask for another compaction.
      this.runs.end(run);
      this.events.emit({ type: "messages", change: "compaction", ids: [stored.id] });
      await this.options.onStored();
      await this.#refreshPrompt(timeout);
      return { stored: stored.result, fruitless: false };
    } catch (error) {
      // Another process was faster, or the range was edited: what is there now stands.
      if (!StemmaError.isInstance(error, "COMPACTION_STALE")) throw error;
      return NOTHING_STORED;
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
    this.events.emitError(error);
    try {
      await this.options.onError?.(error);
    } catch {
      // The documents say so: a handler's own failure must not reach the caller of a write that is stored.
    }
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
