import { Queue } from "../../queue.js";
import type { SessionState } from "../types.js";

/**
 * Which version of a session a state object stands for. A state that was not loaded or saved here counts as the one that
 * was last seen of its session; of a session that was never seen, as a new one.
 */
export class Versions {
  readonly #ofState = new WeakMap<SessionState, number>();
  readonly #seen = new Map<string, number>();
  readonly #queue = new Queue();

  expected(state: SessionState): number {
    return this.#ofState.get(state) ?? this.#seen.get(state.id) ?? 0;
  }

  note(state: SessionState, version: number): void {
    this.#ofState.set(state, version);
    this.#seen.set(state.id, version);
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }

  /** One after the other for each session: our own writes are no conflict. */
  exclusive<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.write(id, work);
  }
}
