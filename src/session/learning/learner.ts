import { perObject } from "../../once.js";
import { orderOf } from "../../storage/store-of.js";
import { LONGEST } from "../time-limit.js";
import type { LearnParts } from "./learning-run.js";

const underWay = perObject((_owner: object) => new Map<string, Promise<void>>());

/**
 * Learns from one session: what it has not learned from yet, once, whichever process comes first. The code that does so is
 * loaded with the first run.
 */
export class Learner {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly parts: LearnParts) {}

  /** Notes that messages were written: when none follow for a while, the chat is idle. */
  wrote(): void {
    clearTimeout(this.#timer);
    const { idleAfter } = this.parts.options;
    if (idleAfter > LONGEST) return;
    this.#timer = setTimeout(() => void this.run(), idleAfter);
    // No process goes on for it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Learns from what is new. Never fails: listeners are told. In one process, whoever calls meanwhile waits for the same. */
  run(): Promise<void> {
    clearTimeout(this.#timer);
    const runs = underWay(orderOf(this.parts.store));
    const { id } = this.parts.backend;
    const running = runs.get(id);
    if (running !== undefined) return running;
    const run = this.#learn().finally(() => runs.delete(id));
    runs.set(id, run);
    return run;
  }

  async #learn(): Promise<void> {
    try {
      const { LearningRun } = await import("./learning-run.js");
      await new LearningRun(this.parts).learnAll();
    } catch (error) {
      this.parts.events.emitError(error);
    }
  }
}
