import type { SessionContext } from "../../context/session-context.js";
import { StemmaError } from "../../errors.js";
import { type AppliedEdits, applyEdits } from "../../learning/apply.js";
import type { LearnEdit, LearnRequest } from "../../learning/edits.js";
import type { LearnFunction } from "../../learning/learn.js";
import { foldLabel } from "../../model/fold-label.js";
import type { SessionMessage } from "../../model/message.js";
import { estimateMessageTokens } from "../../model/tokens.js";
import type { Store } from "../../storage/contract.js";
import { orderOf } from "../../storage/store-of.js";
import type { SessionEvents } from "../events.js";
import type { SessionBackend } from "../provider.js";
import { answerWithin, LONGEST } from "../time-limit.js";
import { LearnLog, type LearnState } from "./log.js";
import { describeBlocks, entriesFor, keptWrites, learnableBlocks, readMemory } from "./memory-view.js";
import { unlearnedMessages } from "./unlearned.js";

export interface LearnerOptions {
  readonly learn: LearnFunction;
  /** Milliseconds without a message after which a chat is idle; `Infinity` for never. */
  readonly idleAfter: number;
  /** Milliseconds that the function may take. */
  readonly timeout: number;
  /** Labels of the blocks to learn into; null for all that the session's store keeps. */
  readonly blocks: readonly string[] | null;
}

/** The function is given messages of so many estimated tokens at once. */
const BATCH_TOKENS = 20_000;
/** What a function failed with so often is passed over. */
const MAX_FAILURES = 3;
/** How often edits are applied anew because someone else wrote to a block. */
const MAX_ATTEMPTS = 10;
/** Milliseconds that reading and writing may take beside the function. */
const SPARE_TIME = 60_000;
const underWay = new WeakMap<object, Map<string, Promise<void>>>();

/** Learns from one session: what it has not learned from yet, once, whichever process comes first. */
export class Learner {
  readonly #log: LearnLog;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly backend: SessionBackend,
    private readonly context: SessionContext,
    private readonly events: SessionEvents,
    private readonly options: LearnerOptions,
  ) {
    this.#log = new LearnLog(store.records, backend.id);
  }

  /** Notes that messages were written: when none follow for a while, the chat is idle. */
  wrote(): void {
    clearTimeout(this.#timer);
    const { idleAfter } = this.options;
    if (idleAfter > LONGEST) return;
    this.#timer = setTimeout(() => void this.run(), idleAfter);
    // No process goes on for it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Learns from what is new. Never fails: listeners are told. In one process, whoever calls meanwhile waits for the same. */
  run(): Promise<void> {
    clearTimeout(this.#timer);
    const owner = orderOf(this.store);
    const runs = underWay.get(owner) ?? new Map<string, Promise<void>>();
    underWay.set(owner, runs);
    const { id } = this.backend;
    const running = runs.get(id);
    if (running !== undefined) return running;
    const run = this.#learnAll().finally(() => runs.delete(id));
    runs.set(id, run);
    return run;
  }

  async #learnAll(): Promise<void> {
    try {
      while (await this.#learnSome());
    } catch (error) {
      this.events.emitError(error);
    }
  }

  // True when there is more.
  async #learnSome(): Promise<boolean> {
    const release = await this.#log.lease(Math.min(this.options.timeout, LONGEST) + SPARE_TIME);
    if (release === null) return false;
    try {
      const { state, version } = await this.#log.state();
      const messages = await unlearnedMessages(this.backend, state.learned);
      const batch = firstBatch(messages);
      if (!messages.some(({ role }) => role === "user")) return false;
      const isPassedOver = state.failures >= MAX_FAILURES;
      const edits = isPassedOver ? [] : await this.#ask(batch, state, version);
      if (edits === null) return false;
      await this.#apply(edits, batch, state, version);
      return batch.length < messages.length;
    } finally {
      await release();
    }
  }

  // Null when the function failed, of which listeners are told.
  async #ask(
    messages: readonly SessionMessage[],
    state: LearnState,
    version: number,
  ): Promise<readonly LearnEdit[] | null> {
    const blocks = this.#blocks();
    // A continuation's first message tells what was learned from before.
    const news = messages.filter(
      ({ metadata }) => (metadata as { summaryOf?: unknown } | undefined)?.summaryOf === undefined,
    );
    if (blocks.length === 0 || !news.some(({ role }) => role === "user")) return [];
    const request = {
      messages: news,
      blocks: await describeBlocks(blocks),
      entries: await entriesFor(blocks, news),
    };
    try {
      const edits = await this.#answer(request);
      if (Array.isArray(edits)) return edits;
      throw new StemmaError("LEARNING_FAILED", {}, "A learn function resolves to an array of edits.");
    } catch (error) {
      this.events.emitError(error);
      await this.#log.failed(state, version);
      return null;
    }
  }

  #answer(request: LearnRequest): Promise<readonly LearnEdit[]> {
    const { learn, timeout } = this.options;
    const late = `The learn function gave no answer within ${timeout} ms. Pass onLearning(learn, { timeout }) to wait longer.`;
    return answerWithin((async () => learn(request))(), timeout, late);
  }

  async #apply(
    edits: readonly LearnEdit[],
    messages: readonly SessionMessage[],
    state: LearnState,
    version: number,
  ): Promise<void> {
    const blocks = this.#blocks();
    const ids = messages.map(({ id }) => id);
    for (let attempt = 1; ; attempt += 1) {
      const view = await readMemory(blocks, edits);
      const applied = applyEdits(edits, { ...view, messageIds: new Set(ids) });
      const writes = keptWrites(applied.writes, view, blocks, this.backend.id);
      try {
        await this.store.writeTogether([...writes, this.#log.next(state, ids, version)]);
        return await this.#told(applied, edits.length);
      } catch (error) {
        // Someone else has learned from these messages meanwhile.
        if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return;
        if (attempt === MAX_ATTEMPTS || !StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
      }
    }
  }

  async #told({ writes, skipped }: AppliedEdits, given: number): Promise<void> {
    if (given === 0) return;
    const labels = new Set(writes.map(({ label }) => label));
    for (const block of this.#blocks()) if (labels.has(block.label)) await block.readAfterWrite();
    this.events.emit({ type: "learning", edits: writes.map(({ edit }) => edit), skipped });
  }

  #blocks() {
    const { blocks } = this.options;
    const wanted = blocks === null ? null : new Set(blocks.map(foldLabel));
    const all = learnableBlocks(this.context.liveBlocks(), this.store);
    return wanted === null ? all : all.filter(({ folded }) => wanted.has(folded));
  }
}

// At least one message, the oldest first.
function firstBatch(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  let tokens = 0;
  const end = messages.findIndex((message, index) => {
    tokens += estimateMessageTokens(message);
    return index > 0 && tokens > BATCH_TOKENS;
  });
  return end < 0 ? messages : messages.slice(0, end);
}
