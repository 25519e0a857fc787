import { perObject } from "../../once.js";
import { orderOf } from "../../storage/store-of.js";
import { LONGEST, Waiters } from "../time-limit.js";
import { LearningRun, type LearnParts } from "./learning-run.js";

/** A run, and those in this process who wait for it. */
interface UnderWay {
  readonly work: Promise<void>;
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
    if (idleAfter > LONGEST) return;
    this.#timer = setTimeout(() => this.#begin(), idleAfter);
    // No process goes on for it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Learns from what is new. Never fails: listeners are told. In one process, whoever calls meanwhile waits for the same. */
  run(): Promise<void> {
    const { work, waiters } = this.#begin();
    return waiters.wait(work);
  }

  #begin(): UnderWay {
    clearTimeout(this.#timer);
    const runs = underWay(orderOf(this.parts.store));
    const { id } = this.parts.backend;
    const running = runs.get(id);
    if (running !== undefined) return running;
    const waiters = new Waiters();
    const begun = { waiters, work: this.#learn(waiters).finally(() => runs.delete(id)) };
    runs.set(id, begun);
    return begun;
  }

  async #learn(waiters: Waiters): Promise<void> {
    try {
      await new LearningRun({ ...this.parts, waiters }).learnAll();
    } catch (error) {
      this.parts.events.emitError(error);
    }
  }
}
