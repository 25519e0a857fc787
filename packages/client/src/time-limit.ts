import { unlessAborted } from "@stemma/model";
import { lost } from "./failures.js";

/** Ends what takes too long, or what the caller no longer wants. */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(milliseconds: number, outer: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.#outer = outer;
    outer?.addEventListener("abort", this.#leave);
    if (outer?.aborted) this.#leave();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives a task the whole time. It fails when the time is over, also where it does not heed the signal. */
  async within<T>(task: Promise<T>): Promise<T> {
    clearTimeout(this.#timer);
    const late = () => this.#controller.abort(lost(`No answer came within ${this.#milliseconds} ms.`));
    this.#timer = setTimeout(late, this.#milliseconds);
    try {
      return await unlessAborted(task, this.signal);
    } finally {
      clearTimeout(this.#timer);
    }
  }

  /** Ends it: what is still sent is cut. */
  end(): void {
    this.#outer?.removeEventListener("abort", this.#leave);
    this.#controller.abort();
  }

  readonly #leave = () => this.#controller.abort(this.#outer?.reason);
}
