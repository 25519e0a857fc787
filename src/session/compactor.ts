import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { SessionContext } from "../context/session-context.js";
import { invalid, StemmaError } from "../errors.js";
import { digestMessage } from "../model/digest.js";
import type { SessionMessage } from "../model/message.js";
import type { Store } from "../storage/contract.js";
import { observed } from "../storage/observed.js";
import { type CompactionRun, CompactionRuns } from "./compaction-runs.js";
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

interface Outcome {
  readonly stored: CompactResult | null;
  /** The function had nothing to gain. Not so when it failed, or the history changed under it: the next one may succeed. */
  readonly fruitless: boolean;
}

/** What a compact function gave, or failed with. */
interface Answer {
  readonly answer: CompactResult | null;
  readonly failure: { readonly error: unknown } | null;
}

const NOTHING_STORED: Outcome = { stored: null, fruitless: false };

/** After this many automatic attempts in a row that gained nothing, the trigger pauses. */
const MAX_FRUITLESS = 3;

/** Decides when a session compacts, and under which guard what the compact function gives is stored. */
export class Compactor {
  #fruitless = 0;
  #pausedAt: number | null = null;
  #toldOfNoFunction = false;
  readonly #count: TokenCount;
  readonly #runs: CompactionRuns<Outcome>;

  /** `owner` is what several objects for one session have in common: the store, or the provider. */
  constructor(
    owner: object,
    private readonly backend: SessionBackend,
    private readonly context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
  ) {
    this.#runs = new CompactionRuns(owner, backend.id);
    const { tokenCounter, timeout } = options;
    this.#count = new TokenCount(backend, context, tokenCounter, (error) => this.#fail(error), timeout.automatic);
  }

  /** See `Session.compact`. Callers at the same time share one run for a path. */
  async run(leafId: string | undefined): Promise<CompactResult | null> {
    const { compact, timeout } = this.options;
    if (compact === null) throw notConfigured();
    return (
      await this.#runs.share(leafId, (run) => this.#observed(() => this.#compact(run, compact, timeout.called, null)))
    ).stored;
  }

  /** True when a write is followed by a look at the size of the visible history, as it is estimated. */
  get estimates(): boolean {
    const { threshold, tokenCounter } = this.options;
    return tokenCounter === null && (threshold !== null || this.events.observed);
  }

  /** Compacts when the history has outgrown the threshold. Never fails: the write it follows is stored. */
  async afterWrite(visibleTokens: number | null): Promise<void> {
    const { threshold, compact, timeout } = this.options;
    if (threshold === null && !this.events.observed) return;
    try {
      const tokens = await this.#count.ofActivePath(visibleTokens);
      this.#report("idle", tokens);
      if (threshold === null || tokens <= threshold) return;
      if (compact === null) return await this.#tellOfNoFunction();
      // Whoever writes meanwhile does not wait for it: that may be the compact function itself.
      if (this.#runs.any || this.#paused(tokens)) return;
      const run = this.#runs.share(undefined, (run) =>
        this.#observed(() => this.#compact(run, compact, timeout.automatic, tokens)),
      );
      const { stored, fruitless } = await run;
      if (stored !== null || fruitless) await this.#pauseWhenFruitless(fruitless, tokens, threshold);
    } catch (error) {
      await this.#fail(error);
    }
  }

  /** Tells whoever listens how large the history is now, after a change that never compacts. */
  async afterChange(): Promise<void> {
    if (!this.events.observed) return;
    try {
      this.#report("idle", await this.#count.ofActivePath(null));
    } catch (error) {
      await this.#fail(error);
    }
  }

  /** Forgets how earlier compactions went: the conversation they were of is gone. */
  reset(): void {
    this.#fruitless = 0;
    this.#pausedAt = null;
  }

  async #pauseWhenFruitless(fruitless: boolean, tokens: number, threshold: number): Promise<void> {
    this.#fruitless = fruitless ? this.#fruitless + 1 : 0;
    if (this.#fruitless < MAX_FRUITLESS) return;
    this.#pausedAt = tokens;
    this.#fruitless = 0;
    const message = `${MAX_FRUITLESS} compactions in a row did not shrink the history; the next one is tried when it has grown by half.`;
    await this.#fail(new StemmaError("COMPACTION_NO_GAIN", { tokens, threshold }, message));
  }

  #paused(tokens: number): boolean {
    if (this.#pausedAt !== null && tokens >= this.#pausedAt * 1.5) this.#pausedAt = null;
    return this.#pausedAt !== null;
  }

  async #tellOfNoFunction(): Promise<void> {
    if (this.#toldOfNoFunction) return;
    this.#toldOfNoFunction = true;
    await this.#fail(notConfigured());
  }

  #observed<T>(work: () => T): T {
    return observed(this.options.store, { type: "compaction", name: "compact", sessionId: this.backend.id }, work);
  }

  // `counted` are the tokens before it, where the trigger counted them.
  async #compact(
    run: CompactionRun<Outcome>,
    compact: CompactFunction,
    timeout: number,
    counted: number | null,
  ): Promise<Outcome> {
    const messages = (await this.backend.path({ leafId: run.asked })).messages;
    const leafId = messages.at(-1)?.id;
    if (leafId === undefined) return NOTHING_STORED;
    const other = this.#runs.onPath(run, messages);
    if (other !== undefined) return other.result;
    run.leafId = leafId;
    const seen: Seen = { messages, digests: messages.map(digestMessage), leafId };
    const tokensBefore = counted ?? (this.events.observed ? await this.#count.of([...messages]) : null);
    this.#report("compacting", tokensBefore ?? 0);
    const [{ answer, failure }, { storeSummary }] = await Promise.all([
      this.#ask(compact, [...messages], timeout),
      import("./store-summary.js"),
    ]);
    let after: SessionMessage[] | null = null;
    try {
      const stored = answer === null ? null : await storeSummary(this.backend, answer, seen);
      if (stored === null) return { stored: null, fruitless: failure === null };
      after = stored.after;
      // What blocks and listeners do from here on may well ask for another compaction.
      this.#runs.end(run);
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
      if (failure !== null) await this.#fail(failure.error);
    }
  }

  async #ask(compact: CompactFunction, messages: SessionMessage[], timeout: number): Promise<Answer> {
    try {
      const given = Promise.resolve(compact(messages, this.#count.compactContext()));
      return { answer: checkedResult(await withinTime(given, timeout)), failure: null };
    } catch (error) {
      return { answer: null, failure: { error } };
    }
  }

  // The provider's cached prefix ends at the summary anyway. The compaction is stored, whatever becomes of this.
  async #refreshPrompt(timeout: number): Promise<void> {
    const refresh = async () => {
      if ((await this.context.knownPrompt()) !== null) await this.context.refreshPrompt();
    };
    try {
      await withinTime(refresh(), timeout, "A provider of the prompt");
    } catch (error) {
      await this.#fail(error);
    }
  }

  // Counts what was read before, with the summary in it: reading once more could fail a call whose summary is stored.
  async #reportEnd(seen: Seen, counted: number | null, after: SessionMessage[] | null): Promise<void> {
    if (!this.events.observed) return;
    const tokensBefore = counted ?? (await this.#count.of([...seen.messages]));
    if (after === null) this.#report("idle", tokensBefore);
    else this.#report("idle", await this.#count.of(after), { tokensBefore });
  }

  #report(phase: "idle" | "compacting", tokenEstimate: number, compacted?: { tokensBefore: number }): void {
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

  async #fail(error: unknown): Promise<void> {
    this.events.emitError(error);
    try {
      await this.options.onError?.(error);
    } catch {
      // The documents say so: a handler's own failure must not reach the caller of a write that is stored.
    }
  }
}

function checkedResult(given: CompactResult | null | undefined): CompactResult | null {
  if (given === null || given === undefined) return null;
  const { fromMessageId, toMessageId, summary } = given;
  if ([fromMessageId, toMessageId, summary].every((field) => typeof field === "string")) return given;
  throw invalid("A compact function resolves to { fromMessageId, toMessageId, summary }, three texts, or to null.");
}

function notConfigured(): StemmaError {
  const message =
    "Give the session a compact function first: session.onCompaction(createCompactFunction({ summarize })).";
  return new StemmaError("COMPACTION_NOT_CONFIGURED", {}, message);
}
