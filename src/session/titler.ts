import type { SessionMessage } from "../model/message.js";
import { nameSession, type TitleParts } from "./name-session.js";
import { Waiters } from "./time-limit.js";

/**
 * Names a session that has no name of its own, once, after its first exchange.
 */
export class Titler {
  #isDone = false;
  #work: Promise<void> = Promise.resolve();
  readonly #waiters = new Waiters();

  constructor(private readonly parts: Omit<TitleParts, "waiters">) {}

  /** Notes that messages were written: an answer may end the first exchange. Nobody waits for the name. */
  wrote(messages: readonly SessionMessage[]): void {
    if (this.#isDone || !messages.some(({ role }) => role === "assistant")) return;
    this.#work = this.#work.then(() => this.#name());
  }

  /** Waits for what is under way. Never fails. */
  settled(): Promise<void> {
    return this.#waiters.wait(this.#work);
  }

  async #name(): Promise<void> {
    if (this.#isDone) return;
    try {
      this.#isDone = await nameSession({ ...this.parts, waiters: this.#waiters });
    } catch (error) {
      this.parts.events.emitError(error);
    }
  }
}
