import { LONGEST_TIMER, perObject } from "@stemma/model";
import { orderOf } from "@stemma/store";
import { Waiters } from "../session/compaction/time-limit.js";
import { type Learned, LearningRun, type LearnLimits, type LearnParts } from "./learning-run.js";

/** A run, and those in this process who wait for it. */
interface UnderWay {
  readonly work: Promise<unknown>;
  readonly waiters: Waiters;
}

const underWay = perObject((_owner: object) => new Map<string, UnderWay>());

/**
 * Learns from one session: what it has not learned from yet, once, whichever process comes first.
 */
export class Learner {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly parts: Omit<LearnParts, "waiters">) {}

  /** Notes that messages were written: when none follow for a while, the chat is idle. */
  wrote(): void {
    clearTimeout(this.#timer);
    const { idleAfter } = this.parts.options;
    if (idleAfter > LONGEST_TIMER) return;
    this.#timer = setTimeout(() => this.#begin(), idleAfter);
    // No process goes on for it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Learns from what is new. Never fails: listeners are told. In one process, whoever calls meanwhile waits for the same. */
  async run(): Promise<void> {
    const { work, waiters } = this.#begin();
    await waiters.wait(work);
  }

  /** Learns from what is new within limits. Null, once that has ended, where this process learns from the session already. Errors: those of the store. */
  async runWithin(limits: LearnLimits): Promise<Learned | null> {
    const running = this.#runs.get(this.parts.backend.id);
    if (running !== undefined) {
      await running.waiters.wait(running.work);
      return null;
    }
    const waiters = new Waiters();
    const work = new LearningRun({ ...this.parts, waiters }).learnAll(limits);
    this.#note({ waiters, work: work.catch(() => {}) });
    return waiters.wait(work);
  }

  /** The messages that `run` would learn from, oldest first. Errors: those of the store. */
  news() {
    return new LearningRun({ ...this.parts, waiters: new Waiters() }).news();
  }

  get #runs(): Map<string, UnderWay> {
    return underWay(orderOf(this.parts.store));
  }

  #begin(): UnderWay {
    clearTimeout(this.#timer);
    const running = this.#runs.get(this.parts.backend.id);
    if (running !== undefined) return running;
    const waiters = new Waiters();
    return this.#note({ waiters, work: this.#learn(waiters) });
  }

  #note({ waiters, work }: UnderWay): UnderWay {
    const { id } = this.parts.backend;
    const noted = { waiters, work: work.finally(() => this.#runs.delete(id)) };
    this.#runs.set(id, noted);
    return noted;
  }

  async #learn(waiters: Waiters): Promise<void> {
    try {
      await new LearningRun({ ...this.parts, waiters }).learnAll();
    } catch (error) {
      this.parts.events.emitError(error);
    }
  }
}
