import type { CompactContext, CompactFunction, CompactResult } from "../compaction/compact.js";
import type { ContextBlock } from "../context/block.js";
import type { SessionContext } from "../context/session-context.js";
import { StemmaError } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import { summaryMessage } from "../model/overlay.js";
import { estimateMessageTokens, estimateStringTokens } from "../model/tokens.js";
import type { SessionEvents } from "./events.js";
import type { SessionBackend } from "./provider.js";

/** Measures what a request to the model holds of the session. */
export type TokenCounter = (input: TokenCounterInput) => number | Promise<number>;

export interface TokenCounterInput {
  messages: SessionMessage[];
  /** The frozen prompt; "" when none was frozen. */
  systemPrompt: string;
  contextBlocks: ContextBlock[];
}

/** Called with what an automatic compaction failed with; what it throws itself is dropped. */
export type CompactionErrorHandler = (error: unknown) => void | Promise<void>;

export interface CompactorOptions {
  readonly compact: CompactFunction | null;
  /** Estimated tokens above which a write compacts; null never. */
  readonly threshold: number | null;
  readonly tokenCounter: TokenCounter | null;
  readonly onError: CompactionErrorHandler | null;
}

// Compactions under way in this process, by store and session.
const underWay = new WeakMap<object, Map<string, Promise<CompactResult | null>>>();

function runningOn(owner: object): Map<string, Promise<CompactResult | null>> {
  const running = underWay.get(owner) ?? new Map<string, Promise<CompactResult | null>>();
  underWay.set(owner, running);
  return running;
}

/** After this many automatic attempts in a row that gained nothing, the trigger pauses. */
const MAX_FRUITLESS = 3;

/** Decides when a session compacts, and under which guard what the compact function gives is stored. */
export class Compactor {
  private fruitless = 0;
  private pausedAt: number | null = null;

  /** `owner` is what several objects for one session have in common: the store, or the provider. */
  constructor(
    private readonly owner: object,
    private readonly backend: SessionBackend,
    private readonly context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
  ) {}

  /** See `Session.compact`. Callers at the same time share one run. */
  run(): Promise<CompactResult | null> {
    const { compact } = this.options;
    if (compact === null) {
      const message =
        "Give the session a compact function first: session.onCompaction(createCompactFunction({ summarize })).";
      return Promise.reject(new StemmaError("COMPACTION_NOT_CONFIGURED", {}, message));
    }
    const running = runningOn(this.owner);
    const { sessionId } = this.backend;
    const run =
      running.get(sessionId) ??
      this.compact(compact).finally(() => {
        running.delete(sessionId);
      });
    running.set(sessionId, run);
    return run;
  }

  /** Compacts when the history has outgrown the threshold. Never fails: the write it follows is stored. */
  async afterWrite(visibleTokens: number | null): Promise<void> {
    const { threshold, compact } = this.options;
    const automatic = threshold !== null && compact !== null;
    if (!automatic && !this.events.observed) return;
    try {
      const tokens = await this.measure(visibleTokens);
      this.report("idle", tokens);
      // Whoever writes meanwhile does not wait for it: that may be the compact function itself.
      if (!automatic || tokens <= threshold || this.underWay || this.paused(tokens)) return;
      const stored = await this.run();
      this.fruitless = stored === null ? this.fruitless + 1 : 0;
      if (this.fruitless >= MAX_FRUITLESS) {
        this.pausedAt = tokens;
        this.fruitless = 0;
        const message = `${MAX_FRUITLESS} compactions in a row did not shrink the history; the next one is tried when it has grown by half.`;
        await this.fail(new StemmaError("COMPACTION_NO_GAIN", { tokens, threshold }, message));
      }
    } catch (error) {
      await this.fail(error);
    }
  }

  /** Tells whoever listens how large the history is now, after a change that never compacts. */
  async afterChange(): Promise<void> {
    if (!this.events.observed) return;
    try {
      this.report("idle", await this.measure(null));
    } catch (error) {
      await this.fail(error);
    }
  }

  private get underWay(): boolean {
    return runningOn(this.owner).has(this.backend.sessionId);
  }

  private paused(tokens: number): boolean {
    if (this.pausedAt !== null && tokens >= this.pausedAt * 1.5) this.pausedAt = null;
    return this.pausedAt !== null;
  }

  private async compact(compact: CompactFunction): Promise<CompactResult | null> {
    const [leaf, messages] = await Promise.all([this.backend.leaf(), this.backend.history(undefined, "throw")]);
    const tokensBefore = sumTokens(messages);
    this.report("compacting", tokensBefore);
    let saved: number | null = null;
    try {
      const result = await compact(messages, this.compactContext());
      const stored = result === null || leaf === null ? null : await this.store(result, messages, leaf.id);
      saved = stored?.saved ?? null;
      return stored?.result ?? null;
    } finally {
      // Told from what was read before: reading once more could fail a call whose overlay is stored.
      this.report("idle", tokensBefore - (saved ?? 0), saved === null ? undefined : { tokensBefore });
    }
  }

  // Stores what a compact function gave, if it is worth it and the range is still as it was seen.
  private async store(
    result: CompactResult,
    messages: SessionMessage[],
    leafId: string,
  ): Promise<{ result: CompactResult; saved: number } | null> {
    // A model may stop in the middle of a character, which no store keeps.
    const summary = result.summary.replaceAll("\0", "").toWellFormed();
    if (summary.trim() === "") return null;
    const from = messages.findIndex(({ id }) => id === result.fromMessageId);
    const to = messages.findIndex(({ id }) => id === result.toMessageId);
    const range = messages.slice(from, to + 1);
    const seen = from >= 0 && to >= from;
    const saved = sumTokens(range) - estimateMessageTokens(summaryMessage({ id: "", summary }));
    if (seen && saved <= 0) return null;
    const expect = seen ? { leafId, visibleIds: range.map(({ id }) => id) } : undefined;
    try {
      const overlay = await this.backend.addCompaction({ ...result, summary, expect });
      this.events.emit({ type: "messages", change: "compaction", ids: [overlay.id] });
      const { fromMessageId, toMessageId } = overlay;
      return { result: { fromMessageId, toMessageId, summary }, saved: seen ? saved : 0 };
    } catch (error) {
      // Another process was faster, or the range was edited: what is there now stands.
      if (StemmaError.isInstance(error, "COMPACTION_STALE")) return null;
      throw error;
    }
  }

  private async measure(visibleTokens: number | null): Promise<number> {
    const systemPrompt = this.context.frozenPrompt() ?? (await this.context.knownPrompt()) ?? "";
    const { tokenCounter } = this.options;
    if (tokenCounter !== null) {
      await this.context.load();
      const messages = await this.backend.history(undefined, "throw");
      return tokenCounter({ messages, systemPrompt, contextBlocks: this.context.blocks() });
    }
    return (visibleTokens ?? (await this.backend.visibleTokens())) + this.promptTokens(systemPrompt);
  }

  private lastPrompt = { text: "", tokens: 0 };

  private promptTokens(text: string): number {
    if (this.lastPrompt.text !== text) this.lastPrompt = { text, tokens: estimateStringTokens(text) };
    return this.lastPrompt.tokens;
  }

  // The counter that decides when also decides what, one message at a time.
  private compactContext(): CompactContext {
    const { tokenCounter } = this.options;
    if (tokenCounter === null) return {};
    return { tokenCounter: (messages) => tokenCounter({ messages, systemPrompt: "", contextBlocks: [] }) };
  }

  private report(phase: "idle" | "compacting", tokenEstimate: number, compacted?: { tokensBefore: number }): void {
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

  private async fail(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    this.events.emit({ type: "cf_agent_session_error", error: message });
    try {
      await this.options.onError?.(error);
    } catch {
      // The documents say so: a handler's own failure must not reach the caller of a write that is stored.
    }
  }
}

function sumTokens(messages: readonly SessionMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}
