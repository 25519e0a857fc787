import type { CompactFunction, CompactResult } from "@stemma/model";
import { StemmaError } from "@stemma/model";
import { observed } from "@stemma/store";
import type { SessionContext } from "../../context/session-context.js";
import type { SessionEvents } from "../events.js";
import type { SessionBackend } from "../own-provider/provider.js";
import type { TurnRecords } from "../turn/log.js";
import { runCompaction } from "./compaction-run.js";
import {
  CompactionPause,
  CompactionRuns,
  CompactionWork,
  type CompactorOptions,
  type Kept,
  type Outcome,
} from "./compaction-work.js";
import type { Size } from "./token-count.js";

/** After so many automatic attempts in a row that gained nothing, the trigger rests for longer. */
const MAX_IN_VAIN = 3;

/** Decides when a session compacts. */
export class Compactor {
  readonly #pause: CompactionPause;
  readonly #runs: CompactionRuns<Outcome>;
  readonly #work: CompactionWork;
  #inVain = 0;
  readonly #told = new Set<string>();

  /** `owner` is what several objects for one session have in common: the store, or the provider. */
  constructor(
    owner: object,
    private readonly backend: SessionBackend,
    context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: CompactorOptions,
    records: TurnRecords,
  ) {
    this.#pause = new CompactionPause(records, backend.id);
    this.#runs = new CompactionRuns(owner, backend.id);
    this.#work = new CompactionWork(backend, context, events, options, this.#runs, this.#pause);
  }

  /** Compacts, as `Session.compact` does. Callers at the same time share one run for a path. */
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
    // What was counted before a compaction ended says nothing of what is there now; and whoever writes while one runs does
    // not wait for it: that may be the compact function itself.
    const { begun } = this.#pause;
    const isFree = () => this.#pause.begun === begun && !this.#runs.any;
    try {
      const size = await this.#work.count.ofActivePath(visibleTokens);
      const { tokens } = size;
      this.#work.report("idle", tokens);
      this.#pause.saw(size);
      if (threshold === null || tokens <= threshold) return;
      if (compact === null) return await this.#tellOnce(notConfigured());
      if (!isFree() || (await this.#pause.isOn(size)) || !isFree()) return;
      await this.#settle(await this.#share(undefined, compact, timeout.automatic, tokens), size, threshold);
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
    this.#inVain = 0;
    this.#told.clear();
  }

  // After an automatic compaction. One that was stored has begun a pause itself.
  async #settle({ ending, kept }: Outcome, size: Size, threshold: number): Promise<void> {
    if (ending === "stale") {
      this.#inVain = 0;
      return;
    }
    this.#inVain = ending === "stored" ? 0 : this.#inVain + 1;
    const isEnough = this.#inVain === MAX_IN_VAIN;
    if (isEnough) this.#inVain = 0;
    const needed = (isEnough ? Math.max(threshold, kept.tail) : threshold) / 2;
    // Where there was nothing to compact, and where it failed, the next write may find it otherwise.
    if (ending === "fruitless" || isEnough) await this.#pause.begin(size, needed);
    const hasRoom = ending === "stored" ? kept.tokens <= threshold / 2 : kept.prompt + kept.head <= threshold;
    if (hasRoom && !isEnough) return;
    if (hasRoom) await this.#work.fail(noGain(size.tokens, threshold, needed));
    else await this.#tellOnce(noRoom(kept, threshold));
  }

  async #tellOnce(error: StemmaError): Promise<void> {
    if (this.#told.has(error.code)) return;
    this.#told.add(error.code);
    await this.#work.fail(error);
  }

  #share(leafId: string | undefined, compact: CompactFunction, timeout: number, counted: number | null) {
    const { backend, options } = this;
    const told = { type: "compaction", name: "compact", sessionId: backend.id } as const;
    return this.#runs.share(leafId, (run) =>
      observed(options.store, told, async () => {
        const { messages } = await backend.path({ leafId });
        return runCompaction(this.#work, { run, messages, compact, timeout, counted });
      }),
    );
  }
}

function notConfigured(): StemmaError {
  const message =
    "Give the session a compact function first: session.onCompaction(createCompactFunction({ summarize })).";
  return new StemmaError("COMPACTION_NOT_CONFIGURED", {}, message);
}

// What a session says of automatic compactions that help little. Loaded when there is one.

/** After compactions in a row that stored nothing; the next one comes after `needed` tokens of new text. */
function noGain(tokens: number, threshold: number, needed: number): StemmaError {
  const message = `Three compactions in a row did not shrink the history; the next one is tried after ${Math.round(needed)} tokens of new text.`;
  return new StemmaError("COMPACTION_NO_GAIN", { tokens, threshold }, message);
}

/** After one that leaves less than half of the threshold free. */
function noRoom(kept: Kept, threshold: number): StemmaError {
  // A counter of the host's may give fractions.
  const [tokens, prompt] = [Math.round(kept.tokens), Math.round(kept.prompt)];
  const { head, summary, tail } = kept;
  const what =
    kept.prompt + head > threshold
      ? `The prompt and the first messages, which are never summarised, alone exceed compactAfter(${threshold})`
      : `After a compaction there are ${tokens} tokens, more than half of compactAfter(${threshold})`;
  const parts = `prompt ${prompt}; as estimated, first messages ${head}, summary ${summary}, last messages ${tail}`;
  const message = `${what}: ${parts}. Automatic compaction pauses: there is at most one for each ${threshold / 2} tokens of new text. Raise the threshold, or keep less: a shorter prompt, a smaller protectHead or tailTokenBudget.`;
  return new StemmaError("COMPACTION_NO_ROOM", { threshold, ...kept }, message);
}
