import { Queue } from "../../queue.js";
import { Recent } from "../../recent.js";
import type { SessionState } from "../types.js";

/** How many sessions are remembered by their id alone, so that a process that serves any number of them stays level. */
const MAX_REMEMBERED = 10_000;

/**
 * The stored version that a save may replace: null that there is none, undefined whichever there is. A storage makes a
 * new one with every save, and never one that it had before.
 */
export type Expected = string | null | undefined;

/**
 * Which stored version a state object stands for: the one it was loaded from or saved as here. Any other object of a
 * session counts as the version that was last seen of it; of a session that was never seen nothing is known.
 */
export class Versions {
  readonly #ofState = new WeakMap<SessionState, string>();
  readonly #lastSeen = new Recent<string | null>(MAX_REMEMBERED);
  readonly #queue = new Queue();

  expected(state: SessionState): Expected {
    const seen = this.#lastSeen.get(state.id);
    // Deleted here, or never there: the next save makes it.
    return seen === null ? null : (this.#ofState.get(state) ?? seen);
  }

  of(state: SessionState): string | null {
    return this.#ofState.get(state) ?? null;
  }

  note(state: SessionState, version: string): void {
    this.#ofState.set(state, version);
    this.#lastSeen.set(state.id, version);
  }

  /** It was deleted here, or loaded and not there: one that someone else makes from now on is not to be overwritten. */
  noteNone(id: string): void {
    this.#lastSeen.set(id, null);
  }

  /** The same of one that nobody loaded: one that was seen before is not to be brought back. */
  noteAbsent(id: string): void {
    if (this.#lastSeen.get(id) === undefined) this.#lastSeen.set(id, null);
  }

  /** One after the other for each session: our own writes are no conflict. */
  exclusive<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.write(id, work);
  }
}
