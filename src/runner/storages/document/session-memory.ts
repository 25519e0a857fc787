import { StemmaError } from "../../../errors.js";
import type { Queue } from "../../../queue.js";
import type { Store } from "../../../storage/contract.js";
import { isScope } from "../../../storage/session-id.js";
import type { SessionState } from "../../types.js";
import type { Version } from "../versioned-storage.js";
import type { ConvertedMessage } from "./converted-messages.js";
import { removeScope } from "./memory-snapshot.js";

/** A session that lies in memory: its content in the inner store, the rest here. */
export interface Held {
  /** What was last loaded or saved; storages may have put fields of their own into it. Null until the first save. */
  readonly state: SessionState | null;
  /** That of the state, where the storage tells versions apart; undefined when it is not known, or there are none. */
  readonly version: Version | null | undefined;
  /** Its messages as the storage is given them, as far as they did not change. */
  readonly converted: Map<string, ConvertedMessage>;
}

/** Sessions that stay in memory while nobody has them open: the ones that were used last. */
const MAX_IDLE = 200;

/** The sessions that lie in memory: those that someone has open, and those that were used last. */
export class SessionMemory {
  /** The one that was used last at the end. */
  readonly #held = new Map<string, Held>();
  /** How many have a session open. */
  readonly #open = new Map<string, number>();
  /** Calls under way that need every session in memory. */
  #callsOnAll = 0;
  #closed = false;

  constructor(
    private readonly inner: Store,
    private readonly order: Queue,
  ) {}

  get(id: string): Held | undefined {
    return this.#held.get(id);
  }

  /** Notes that a session is used, with what is held of it now. */
  use(id: string, held: Held): void {
    this.#held.delete(id);
    this.#held.set(id, held);
    this.#forgetIdle();
  }

  /** Forgets what is held of a session whose content is gone from the inner store. */
  drop(id: string): void {
    this.#held.delete(id);
  }

  async forget(id: string): Promise<void> {
    this.drop(id);
    if (isScope(id)) await removeScope(this.inner, id);
    else await this.inner.sessions.delete(id);
  }

  /** Runs a call that needs every session in memory. */
  async whole<T>(call: () => Promise<T>): Promise<T> {
    this.#callsOnAll += 1;
    try {
      return await call();
    } finally {
      this.#callsOnAll -= 1;
      this.#forgetIdle();
    }
  }

  /** Keeps a session in memory until it was released as often. */
  retain(id: string): void {
    this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
  }

  /** Gives the memory of a session back once nobody has it open any more: all of it is in the storage. */
  async release(id: string): Promise<void> {
    const left = (this.#open.get(id) ?? 1) - 1;
    if (left > 0) {
      this.#open.set(id, left);
      return;
    }
    this.#open.delete(id);
    await this.#forgetUnused(id);
  }

  /** Errors: `STORE_CLOSED`. */
  assertOpen(): void {
    if (this.#closed) throw new StemmaError("STORE_CLOSED", {}, "This store was closed; open a new one.");
  }

  close(): void {
    this.#closed = true;
    this.#held.clear();
  }

  #forgetIdle(): void {
    if (this.#callsOnAll > 0) return;
    let surplus = this.#held.size - this.#open.size - MAX_IDLE;
    for (const id of this.#held.keys()) {
      if (surplus <= 0) return;
      if (this.#open.has(id) || this.order.has(id)) continue;
      surplus -= 1;
      this.#forgetUnused(id).catch(() => {
        // The store was closed meanwhile.
      });
    }
  }

  #forgetUnused(id: string): Promise<void> {
    return this.order.write(id, async () => {
      if (!this.#open.has(id) && this.#callsOnAll === 0 && !this.#closed) await this.forget(id);
    });
  }
}
