import { raceWithTimer, StemmaError } from "@stemma/model";

/** How long a compact function may take, and what a count or a new prompt asks of the host, unless it is told otherwise, in milliseconds. */
export const DEFAULT_COMPACTION_TIMEOUT = 120_000;

const COMPACT_FUNCTION = "The compact function";

/** Waits for `work`, and gives its result. Errors: `COMPACTION_TIMEOUT` after `timeout` milliseconds; what comes later is dropped. */
export function withinTime<T>(work: Promise<T>, timeout: number, what = COMPACT_FUNCTION): Promise<T> {
  return raceWithTimer(work, timeout, () => timedOut(timeout, what));
}

/**
 * Waits for a function that learns or names, for which nobody may wait: without `waiters` no process goes on for it.
 * Errors: `LEARNING_FAILED`, which says `late`.
 */
export function answerWithin<T>(work: Promise<T>, timeout: number, late: string, waiters: Waiters): Promise<T> {
  return raceWithTimer(work, timeout, () => new StemmaError("LEARNING_FAILED", { timeout }, late), waiters);
}

type Timer = ReturnType<typeof setTimeout>;

/** Those who wait for work in the background. Its time limits keep a process going while there are any, and else do not. */
export class Waiters {
  #count = 0;
  readonly #timers = new Set<Timer>();

  /** Waits for the work, and gives its result. */
  async wait<T>(work: Promise<T>): Promise<T> {
    this.#count += 1;
    for (const timer of this.#timers) this.#hold(timer);
    try {
      return await work;
    } finally {
      this.#count -= 1;
      for (const timer of this.#timers) this.#hold(timer);
    }
  }

  /** Takes the timer of a limit, until it is removed. */
  add(timer: Timer): void {
    this.#timers.add(timer);
    this.#hold(timer);
  }

  remove(timer: Timer): void {
    this.#timers.delete(timer);
  }

  /** Waits within the work. */
  async sleep(milliseconds: number): Promise<void> {
    await new Promise<void>((wake) => {
      const timer = setTimeout(() => {
        this.remove(timer);
        wake();
      }, milliseconds);
      this.add(timer);
    });
  }

  // Other hosts than Node have numbers for timers.
  #hold(timer: Timer): void {
    const { ref, unref } = timer as { ref?: () => void; unref?: () => void };
    (this.#count > 0 ? ref : unref)?.call(timer);
  }
}

/** Calls of something of the host's that may never answer: while one is late, no other is made. Errors: `COMPACTION_TIMEOUT`. */
export class LimitedCalls {
  #late = 0;

  /** `what` begins the sentence that says so. */
  constructor(
    private readonly what: string,
    private readonly timeout: number,
  ) {}

  async run<T>(call: () => T | Promise<T>): Promise<T> {
    if (this.#late > 0) throw timedOut(this.timeout, this.what);
    const answer = (async () => call())();
    try {
      return await withinTime(answer, this.timeout, this.what);
    } catch (error) {
      if (StemmaError.isInstance(error, "COMPACTION_TIMEOUT")) {
        const answered = () => {
          this.#late -= 1;
        };
        this.#late += 1;
        answer.then(answered, answered);
      }
      throw error;
    }
  }
}

function timedOut(timeout: number, what: string): StemmaError {
  const message = `${what} gave no answer within ${timeout} ms. Pass onCompaction(compact, { timeout }) to wait longer.`;
  return new StemmaError("COMPACTION_TIMEOUT", { timeout }, message);
}
