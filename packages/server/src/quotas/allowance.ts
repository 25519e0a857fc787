import { StemmaError } from "@stemma/model";
import type { RecordScope, Store } from "@stemma/store";

/** The counts are records of the store, which no principal reaches through it: `guard` refuses their label. */
const COUNTS: RecordScope = { sessionId: "", label: "stemma:quotas" };

const SECOND = 1_000;
const HOUR = 3_600_000;
/** Of what is left, a process takes such a part at once. */
const PART = 10;

/** The time in which a limit holds, in milliseconds since 1970. */
interface Window {
  readonly begin: number;
  readonly end: number;
}

/**
 * The part of a count in the database that this process has taken, and not used yet. Of what is left it takes a tenth, and no more
 * than it has taken so far: so all processes together never use more than there is, and one that is killed loses no more than it
 * had used.
 */
export class Allowance {
  #rest = 0;
  #taken = 0;
  /** The count as the database had it last, and when that was; null before it was read. */
  #seen: { readonly used: number; readonly at: number } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly key: string,
    readonly window: Window,
    private readonly onError: ((error: unknown) => void) | undefined,
  ) {}

  /** The used part of the count, as far as this process knows; null where it knows nothing yet. */
  get used(): number | null {
    return this.#seen === null ? null : Math.max(0, this.#seen.used - this.#rest);
  }

  /** Uses an amount, all or nothing. False where so much is not left. What the database fails with is told, and the amount used. */
  spend(amount: number, limit: number): Promise<boolean> | boolean {
    if (this.#spendRest(amount)) return true;
    if (this.#isKnownSpent(amount, limit)) return false;
    const spent = this.#last.then(() => this.#spendTaken(amount, limit));
    this.#last = spent;
    return spent;
  }

  /** Takes back what was spent. */
  refund(amount: number): void {
    this.#rest += amount;
  }

  /** Reads the count anew. Errors: those of the store. */
  async read(): Promise<number> {
    await this.#read();
    return this.used ?? 0;
  }

  /** Gives what was not used back to the other processes. */
  release(): Promise<unknown> {
    this.#last = this.#last.then(async () => {
      const rest = this.#rest;
      if (rest === 0 || Date.now() >= this.window.end) return;
      this.#rest = 0;
      try {
        await this.#change((used) => Math.max(0, used - rest));
      } catch (error) {
        this.onError?.(error);
      }
    });
    return this.#last;
  }

  #spendRest(amount: number): boolean {
    if (this.#rest < amount) return false;
    this.#rest -= amount;
    return true;
  }

  // A flood of what is refused does not reach the database.
  #isKnownSpent(amount: number, limit: number): boolean {
    if (this.#seen === null || limit - this.#seen.used + this.#rest >= amount) return false;
    const age = Date.now() - this.#seen.at;
    return age >= 0 && age < SECOND;
  }

  async #spendTaken(amount: number, limit: number): Promise<boolean> {
    try {
      // While it is being taken, others may use some of it.
      while (!this.#spendRest(amount)) {
        if (this.#isKnownSpent(amount, limit) || !(await this.#take(amount - this.#rest, limit))) return false;
      }
    } catch (error) {
      // Who cannot be counted is let in: the quota is there for the store's sake.
      this.onError?.(error);
    }
    return true;
  }

  async #take(missing: number, limit: number): Promise<boolean> {
    let portion = 0;
    const isTaken = await this.#change((used) => {
      const left = limit - used;
      portion = Math.max(missing, Math.min(this.#taken, Math.floor(left / PART)));
      return left < missing ? null : used + portion;
    });
    if (!isTaken) return false;
    this.#rest += portion;
    this.#taken += portion;
    return true;
  }

  /** Makes another number of the count; false for null. */
  async #change(next: (used: number) => number | null): Promise<boolean> {
    for (;;) {
      const { used, version } = await this.#read();
      const changed = next(used);
      if (changed === null) return false;
      if (await this.#write(changed, version)) return true;
    }
  }

  async #read(): Promise<{ used: number; version: number }> {
    const record = await this.store.records.get(COUNTS, this.key);
    const used = record === null ? 0 : Number(new TextDecoder().decode(record.value)) || 0;
    this.#seen = { used, at: Date.now() };
    return { used, version: record?.version ?? 0 };
  }

  // False where another process was faster.
  async #write(used: number, expectedVersion: number): Promise<boolean> {
    const { begin, end } = this.window;
    // Clocks differ, and one that goes back finds the count as it was.
    const expiresAt = end + Math.max(end - begin, HOUR);
    try {
      const value = new TextEncoder().encode(String(used));
      await this.store.records.set(COUNTS, this.key, value, { expectedVersion, expiresAt });
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
      throw error;
    }
    this.#seen = { used, at: Date.now() };
    return true;
  }
}
