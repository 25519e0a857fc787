/** Does writes in their order, and gives what became of each. */
type DoAll<Write> = (writes: readonly Write[]) => Promise<readonly PromiseSettledResult<unknown>[]>;

/** Writes that are done together. */
class Lot<Write> {
  readonly writes: Write[] = [];
  begin = (): void => {};
  readonly outcomes: Promise<readonly PromiseSettledResult<unknown>[]>;

  constructor(doAll: DoAll<Write>) {
    this.outcomes = new Promise((resolve) => {
      this.begin = () => resolve(doAll(this.writes));
    });
  }

  add(write: Write): Promise<unknown> {
    const index = this.writes.push(write) - 1;
    return this.outcomes.then((outcomes) => resultOf(outcomes[index] as PromiseSettledResult<unknown>));
  }
}

/**
 * Calls that are made together: what they write to one session shares a transaction, and each is done or refused by itself. Their
 * maker says when all are made: once each has its write here, or is over, these are done, each session's in the order in which they came.
 * What comes later is done at once.
 */
export class WriteGroup {
  readonly #lots = new Map<string, Lot<unknown>>();
  /** Calls that have no write here yet, such as one for which it is still asked whether it may. */
  readonly #missing = new Set<number>();
  #isOver = false;

  /** Makes a call whose writes have this number. */
  async calling<T>(number: number, make: () => T): Promise<Awaited<T>> {
    this.#missing.add(number);
    try {
      return await make();
    } finally {
      this.#arrived(number);
    }
  }

  /** For a store: does a write with the others of the same key. `doAll` does as many of them as it is given. */
  add<Write, T>(number: number, key: string, write: Write, doAll: DoAll<Write>): Promise<T> {
    const lot = (this.#lots.get(key) as Lot<Write> | undefined) ?? new Lot(doAll);
    const done = lot.add(write) as Promise<T>;
    this.#lots.set(key, lot as Lot<unknown>);
    this.#arrived(number);
    return done;
  }

  /** All calls are made. Idempotent. */
  end(): void {
    this.#isOver = true;
    this.#begin();
  }

  #arrived(number: number): void {
    this.#missing.delete(number);
    this.#begin();
  }

  #begin(): void {
    if (!this.#isOver || this.#missing.size > 0) return;
    const lots = [...this.#lots.values()];
    this.#lots.clear();
    for (const { begin } of lots) begin();
  }
}

function resultOf(outcome: PromiseSettledResult<unknown>): unknown {
  if (outcome.status === "rejected") throw outcome.reason;
  return outcome.value;
}
