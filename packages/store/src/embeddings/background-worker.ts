import { StemmaError } from "@stemma/model";

export interface BackgroundWorkerOptions {
  /** Does a part of the work. False when there was none. */
  readonly step: () => Promise<boolean>;
  /** Told of each failure. What it throws is not looked at. */
  readonly onError: (error: unknown) => void;
  /** How often to look for work that others left, in milliseconds; null never. */
  readonly interval: number | null;
  /** How long to wait after that many failures in a row, in milliseconds. Default: it doubles each time. */
  readonly retryDelay?: ((failures: number) => number) | undefined;
  /** Keeps the host alive until a promise settles. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** How long to gather work before it is begun, in milliseconds. */
const GATHER = 50;

/** After a failure: the first wait, which doubles with each failure in a row, and the longest. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 300_000;

/** How many failures in a row `finish` puts up with. */
const TRIES = 3;

/** Errors after which trying again is of no use. */
const FINAL = ["EMBEDDER_REPLACED", "STORE_CLOSED", "DATABASE_TOO_NEW", "MIGRATION_REQUIRED"] as const;

/**
 * Work that goes on by itself, step by step, whenever it is woken; a step that failed is tried again later. Between steps
 * nothing keeps the process alive.
 */
export class BackgroundWorker {
  lastError: unknown = null;
  readonly #retryDelay: (failures: number) => number;
  #running: Promise<void> | null = null;
  #woken = false;
  #stopped = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: BackgroundWorkerOptions) {
    this.#retryDelay = options.retryDelay ?? doublingDelay;
  }

  /** Begins soon, unless a failure is being waited for. */
  wake(): void {
    // Not put off by what comes while it gathers.
    if (this.#woken) return;
    this.#woken = true;
    if (this.#running === null && this.#failures === 0) this.#later(GATHER);
  }

  /** Works until nothing is left. Rejects with the last failure when several came in a row. */
  async finish(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      this.#woken = true;
      // A run that was just ending may have missed it.
      do await this.#run();
      while (this.#woken && this.lastError === null && !this.#stopped);
      if (this.lastError === null) return;
      if (tries === TRIES || this.#stopped) throw this.lastError;
      await new Promise((resolve) => setTimeout(resolve, this.#retryDelay(tries)));
    }
  }

  /** Ends the work after the step that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #later(delay: number): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#run(), delay);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  // The run that is under way goes on with what it was woken for meanwhile.
  #run(): Promise<void> {
    this.#running ??= this.#work();
    return this.#running;
  }

  async #work(): Promise<void> {
    clearTimeout(this.#timer);
    const steps = this.#steps();
    this.options.waitUntil?.(steps);
    await steps;
    this.#running = null;
    const { interval } = this.options;
    if (this.#failures > 0) this.#later(this.#retryDelay(this.#failures));
    else if (this.#woken) this.#later(GATHER);
    else if (interval !== null) this.#later(interval);
  }

  async #steps(): Promise<void> {
    try {
      for (let more = true; (more || this.#woken) && !this.#stopped; ) {
        this.#woken = false;
        more = await this.options.step();
        this.#failures = 0;
        this.lastError = null;
        // A step of a synchronous store may take no turn of its own, and others are to be served between two.
        if (more) await new Promise((resolve) => setTimeout(resolve));
      }
    } catch (error) {
      if (this.#stopped) return;
      this.#failures += 1;
      this.lastError = error;
      if (StemmaError.isInstance(error) && FINAL.some((code) => code === error.code)) this.#stopped = true;
      report(this.options.onError, error);
    }
  }
}

/** Half a second, twice as long after each further failure, and five minutes at most; give or take a quarter. */
export function doublingDelay(failures: number): number {
  // Processes that failed together come back at different times.
  return Math.min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT) * (0.75 + Math.random() / 2);
}

/** Tells a listener, whose own errors are thrown where they disturb nobody. */
export function report(onError: (error: unknown) => void, error: unknown): void {
  try {
    onError(error);
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
