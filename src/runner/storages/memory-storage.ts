import type { SessionState, SessionStorage } from "../types.js";

/** Keeps sessions in memory until the process ends. States are copied on `save` and `load`. Errors: none. */
export class MemorySessionStorage implements SessionStorage {
  readonly #states = new Map<string, SessionState>();

  async save(state: SessionState): Promise<void> {
    this.#states.set(state.id, structuredClone(state));
  }

  async load(sessionId: string): Promise<SessionState | undefined> {
    return structuredClone(this.#states.get(sessionId));
  }

  async delete(sessionId: string): Promise<void> {
    this.#states.delete(sessionId);
  }

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
