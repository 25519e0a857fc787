import { perObject } from "./once.js";
/** The keys that work holds in a queue: several `read` the same key at once, one that may `write` it is alone. */
export interface Locks {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
}

interface Lane {
  /** Works under way, and whether it is one that writes. */
  running: number;
  writing: boolean;
  /** Those that came later, each knowing the next one; null while nobody waits. */
  first: Waiter | null;
  last: Waiter | null;
}

interface Waiter {
  readonly writes: boolean;
  readonly begin: () => void;
  next: Waiter | null;
}

/**
 * Works on keys, in the order in which they are given: one that writes a key is alone with it, those that read it run
 * together, and nobody overtakes. A work that need not wait begins before the call returns. A key is forgotten once
 * nobody holds it.
 */
export class Queue {
  readonly #lanes = new Map<string, Lane>();

  get size(): number {
    return this.#lanes.size;
  }

  has(key: string): boolean {
    return this.#lanes.has(key);
  }

  read<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#run(key, false, work);
  }

  write<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#run(key, true, work);
  }

  /** Holds several keys. Each is asked for at once, so works that share keys cannot wait for each other in a circle. */
  hold<T>({ read = [], write = [] }: Locks, work: () => Promise<T>): Promise<T> {
    const modes = new Map([...read.map((key) => [key, false] as const), ...write.map((key) => [key, true] as const)]);
    const waits = [...modes].map(([key, writes]) => this.#enter(key, writes)).filter((wait) => wait !== null);
    return finish(waits.length === 0 ? work : () => Promise.all(waits).then(work), () => {
      for (const key of modes.keys()) this.#leave(key);
    });
  }

  /** Waits until the works that were given so far are over. */
  async settled(): Promise<void> {
    await Promise.all(Array.from(this.#lanes.keys(), (key) => this.write(key, async () => {})));
  }

  #run<T>(key: string, writes: boolean, work: () => Promise<T>): Promise<T> {
    const wait = this.#enter(key, writes);
    return finish(wait === null ? work : () => wait.then(work), () => this.#leave(key));
  }

  // Null for a work that may begin at once.
  #enter(key: string, writes: boolean): Promise<void> | null {
    const lane = this.#lanes.get(key);
    if (lane === undefined) {
      this.#lanes.set(key, { running: 1, writing: writes, first: null, last: null });
      return null;
    }
    if (!writes && !lane.writing && lane.first === null) {
      lane.running += 1;
      return null;
    }
    return new Promise((begin) => {
      const waiter: Waiter = { writes, begin, next: null };
      if (lane.last === null) lane.first = waiter;
      else lane.last.next = waiter;
      lane.last = waiter;
    });
  }

  #leave(key: string): void {
    const lane = this.#lanes.get(key) as Lane;
    lane.running -= 1;
    if (lane.running > 0) return;
    let waiter = lane.first;
    if (waiter === null) {
      this.#lanes.delete(key);
      return;
    }
    lane.writing = waiter.writes;
    // The next one that writes, or all that read before it.
    do {
      lane.running += 1;
      waiter.begin();
      waiter = waiter.next;
    } while (waiter !== null && !lane.writing && !waiter.writes);
    lane.first = waiter;
    if (waiter === null) lane.last = null;
  }
}

function finish<T>(run: () => Promise<T>, leave: () => void): Promise<T> {
  let done: Promise<T>;
  try {
    done = run();
  } catch (error) {
    leave();
    return Promise.reject(error);
  }
  // The caller is told of a failure; the queue only needs to know that the work is over.
  done.then(leave, leave);
  return done;
}

/** The queue of an object: the same each time, for whoever shares the object. */
export const queueOf = perObject((_owner: object) => new Queue());

/** A promise that is resolved from outside. */
export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export function defer(): Deferred {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
