import type { SessionState, SessionStorage } from "../types.js";

/**
 * Keeps sessions in memory until the process ends. States are copied on `save` and `load`. No method fails, except `save` on
 * a state that `structuredClone` cannot copy.
 */
export class MemorySessionStorage implements SessionStorage {
  readonly #states = new Map<string, SessionState>();

  /** Keeps a copy of the state, in place of what is stored under its id. Errors: `DataCloneError`, when it holds a function. */
  async save(state: SessionState): Promise<void> {
    this.#states.set(state.id, structuredClone(state));
  }

  /** A copy of the stored state; undefined when there is none. */
  async load(sessionId: string): Promise<SessionState | undefined> {
    return structuredClone(this.#states.get(sessionId));
  }

  /** Deletes a session; an unknown id does nothing. */
  async delete(sessionId: string): Promise<void> {
    this.#states.delete(sessionId);
  }

  /** The ids of the stored sessions. */
  async list(): Promise<string[]> {
    return [...this.#states.keys()];
  }

  /** Removes every session. */
  clear(): void {
    this.#states.clear();
  }

  /** The number of stored sessions. */
  size(): number {
    return this.#states.size;
  }
}
