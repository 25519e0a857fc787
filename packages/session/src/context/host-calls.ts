import { perObject } from "@stemma/model";

/**
 * The callbacks of the host that are under way, by what they are called for. A call that may come from within such a
 * callback must not wait for it to end.
 */
export class HostCalls {
  readonly #underWay = new Map<string, number>();

  /** Runs a callback of the host. */
  async run<T>(key: string, callback: () => T | PromiseLike<T>): Promise<T> {
    let ended = false;
    let counted = false;
    // What else is called before the next yield comes from whoever called us. From the next one on, nobody knows.
    queueMicrotask(() => {
      if (ended) return;
      counted = true;
      this.#count(key, 1);
    });
    try {
      return await this.#now(key, callback);
    } finally {
      ended = true;
      if (counted) this.#count(key, -1);
    }
  }

  /** True when a call that is made now may come from within a callback. */
  mayBeCalling(key: string): boolean {
    return this.#underWay.has(key);
  }

  // The callback's own part, before it first yields.
  #now<T>(key: string, callback: () => T): T {
    this.#count(key, 1);
    try {
      return callback();
    } finally {
      this.#count(key, -1);
    }
  }

  #count(key: string, change: number): void {
    const count = (this.#underWay.get(key) ?? 0) + change;
    if (count === 0) this.#underWay.delete(key);
    else this.#underWay.set(key, count);
  }
}

/** The callbacks that are under way for an object: the same each time. */
export const hostCallsOf = perObject((_owner: object) => new HostCalls());
