import type { SessionContext } from "../../context/session-context.js";
import { StemmaError } from "../../errors.js";
import { type AppliedEdits, applyEdits } from "../../learning/apply.js";
import type { LearnEdit, LearnRequest } from "../../learning/edits.js";
import type { LearnFunction } from "../../learning/learn.js";
import { foldLabel } from "../../model/fold-label.js";
import type { SessionMessage } from "../../model/message.js";
import type { KeptWrite, Store } from "../../storage/contract.js";
import type { SessionEvents } from "../events.js";
import type { Lease } from "../lease.js";
import type { SessionBackend } from "../provider.js";
import { answerWithin, type Waiters } from "../time-limit.js";
import { LearnLog, type LearnState } from "./log.js";
import { describeBlocks, entriesFor, keptWrites, learnableBlocks, readMemory } from "./memory-view.js";
import { firstBatch, unlearnedMessages } from "./unlearned.js";

/** What a function failed with so often is passed over. */
const MAX_FAILURES = 3;
/** How often edits are applied anew because someone else wrote to a block. */
const MAX_ATTEMPTS = 10;

export interface LearnerOptions {
  readonly learn: LearnFunction;
  /** Milliseconds without a message after which a chat is idle; `Infinity` for never. */
  readonly idleAfter: number;
  /** Milliseconds that the function may take. */
  readonly timeout: number;
  /** Labels of the blocks to learn into; null for all that the session's store keeps. */
  readonly blocks: readonly string[] | null;
}

/** What learning works on. */
export interface LearnParts {
  readonly store: Store;
  readonly backend: SessionBackend;
  readonly context: SessionContext;
  readonly events: SessionEvents;
  readonly options: LearnerOptions;
  readonly waiters: Waiters;
}

/** How far it was learned, in which version of the record, and the right to go on. */
interface Progress {
  readonly state: LearnState;
  readonly version: number;
  readonly lease: Lease;
}

/** One run of learning: everything that is new, batch by batch, while nobody else learns from the session. */
export class LearningRun {
  readonly #log: LearnLog;

  constructor(private readonly parts: LearnParts) {
    this.#log = new LearnLog(parts.store, parts.backend.id);
  }

  /** Listeners are told of what the learn function fails with. Errors: those of the store. */
  async learnAll(): Promise<void> {
    const { store, backend } = this.parts;
    // A session that was deleted is not registered anew.
    while ((await store.sessions.get(backend.id)) !== null && (await this.#learnSome()));
  }

  // True when there is more.
  async #learnSome(): Promise<boolean> {
    const lease = await this.#log.lease(this.parts.waiters);
    if (lease === null) return false;
    try {
      const { state, version } = await this.#log.state();
      const messages = await unlearnedMessages(this.parts.backend, state.learned);
      const batch = firstBatch(messages);
      if (!messages.some(({ role }) => role === "user")) return false;
      const isPassedOver = state.failures >= MAX_FAILURES;
      const edits = isPassedOver ? [] : await this.#ask(batch, { state, version, lease });
      if (edits === null) return false;
      await this.#apply(edits, batch, { state, version, lease });
      return batch.length < messages.length;
    } finally {
      await lease.release();
    }
  }

  // Null when the function failed, of which listeners are told.
  async #ask(
    messages: readonly SessionMessage[],
    { state, version, lease }: Progress,
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
      this.parts.events.emitError(error);
      await this.#write([this.#log.failed(state, version)], lease);
      return null;
    }
  }

  #answer(request: LearnRequest): Promise<readonly LearnEdit[]> {
    const { learn, timeout } = this.parts.options;
    const late = `The learn function gave no answer within ${timeout} ms. Pass onLearning(learn, { timeout }) to wait longer.`;
    return answerWithin((async () => learn(request))(), timeout, late, this.parts.waiters);
  }

  async #apply(
    edits: readonly LearnEdit[],
    messages: readonly SessionMessage[],
    { state, version, lease }: Progress,
  ): Promise<void> {
    const blocks = this.#blocks();
    const ids = messages.map(({ id }) => id);
    for (let attempt = 1; ; attempt += 1) {
      const view = await readMemory(blocks, edits);
      const applied = applyEdits(edits, { ...view, messageIds: new Set(ids) });
      const writes = keptWrites(applied.writes, view, blocks, this.parts.backend.id);
      try {
        const isWritten = await this.#write([...writes, this.#log.next(state, ids, version)], lease);
        return isWritten ? await this.#told(applied, edits.length) : undefined;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !StemmaError.isInstance(error, "BLOCK_CONFLICT")) throw error;
      }
    }
  }

  // False where someone else has learned from these messages meanwhile, and where their session was deleted.
  async #write(writes: readonly KeptWrite[], lease: Lease): Promise<boolean> {
    try {
      await lease.write(writes);
      return true;
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
      throw error;
    }
  }

  async #told({ writes, skipped }: AppliedEdits, given: number): Promise<void> {
    if (given === 0) return;
    const labels = new Set(writes.map(({ label }) => label));
    for (const block of this.#blocks()) if (labels.has(block.label)) await block.readAfterWrite();
    this.parts.events.emit({ type: "learning", edits: writes.map(({ edit }) => edit), skipped });
  }

  #blocks() {
    const { blocks } = this.parts.options;
    const wanted = blocks === null ? null : new Set(blocks.map(foldLabel));
    const all = learnableBlocks(this.parts.context.live.all, this.parts.store);
    return wanted === null ? all : all.filter(({ folded }) => wanted.has(folded));
  }
}
