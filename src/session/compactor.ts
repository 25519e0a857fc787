import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { SessionContext } from "../context/session-context.js";
import { StemmaError } from "../errors.js";
import { observed } from "../storage/observed.js";
import { CompactionPause, MAX_FRUITLESS } from "./compaction-pause.js";
import { CompactionRuns } from "./compaction-runs.js";
import { CompactionWork, type CompactorOptions, type Outcome } from "./compaction-work.js";
import type { SessionEvents } from "./events.js";
import type { SessionBackend } from "./provider.js";

/** Decides when a session compacts. */
export class Compactor {
  readonly #pause = new CompactionPause();
  readonly #runs: CompactionRuns<Outcome>;
  readonly #work: CompactionWork;
  #toldOfNoFunction = false;

  /** `owner` is what several objects for one session have in common: the store, or the provider. */
  constructor(
    owner: object,
    private readonly backend: SessionBackend,
    context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
  ) {
    this.#runs = new CompactionRuns(owner, backend.id);
    this.#work = new CompactionWork(backend, context, events, options, this.#runs);
  }

  /** See `Session.compact`. Callers at the same time share one run for a path. */
  async run(leafId: string | undefined): Promise<CompactResult | null> {
    const { compact, timeout } = this.options;
    if (compact === null) throw notConfigured();
    return (await this.#share(leafId, compact, timeout.called, null)).stored;
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
      const size = await this.#work.count.ofActivePath(visibleTokens);
      const { tokens } = size;
      this.#work.report("idle", tokens);
      if (threshold === null || tokens <= threshold) return;
      if (compact === null) return await this.#tellOfNoFunction();
      // Whoever writes meanwhile does not wait for it: that may be the compact function itself.
      if (this.#runs.any || this.#pause.isOn(size)) return;
      const { stored, fruitless } = await this.#share(undefined, compact, timeout.automatic, tokens);
      const isEnough = (stored !== null || fruitless) && this.#pause.note(fruitless, size);
      if (isEnough) await this.#work.fail(noGain(tokens, threshold));
    } catch (error) {
      await this.#work.fail(error);
    }
  }

  /** Tells whoever listens how large the history is now, after a change that never compacts. */
  async afterChange(): Promise<void> {
    if (!this.events.observed) return;
    try {
      this.#work.report("idle", (await this.#work.count.ofActivePath(null)).tokens);
    } catch (error) {
      await this.#work.fail(error);
    }
  }

  /** Forgets how earlier compactions went: the conversation they were of is gone. */
  reset(): void {
    this.#pause.end();
  }

  async #tellOfNoFunction(): Promise<void> {
    if (this.#toldOfNoFunction) return;
    this.#toldOfNoFunction = true;
    await this.#work.fail(notConfigured());
  }

  #share(leafId: string | undefined, compact: CompactFunction, timeout: number, counted: number | null) {
    const { backend, options } = this;
    const told = { type: "compaction", name: "compact", sessionId: backend.id } as const;
    return this.#runs.share(leafId, (run) =>
      observed(options.store, told, () => this.#work.run(run, compact, timeout, counted)),
    );
  }
}

function notConfigured(): StemmaError {
  const message =
    "Give the session a compact function first: session.onCompaction(createCompactFunction({ summarize })).";
  return new StemmaError("COMPACTION_NOT_CONFIGURED", {}, message);
}

function noGain(tokens: number, threshold: number): StemmaError {
  const message = `${MAX_FRUITLESS} compactions in a row did not shrink the history; the next one is tried when it has grown by half.`;
  return new StemmaError("COMPACTION_NO_GAIN", { tokens, threshold }, message);
}
