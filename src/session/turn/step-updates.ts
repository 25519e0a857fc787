import { inTurns, mapped } from "../../event-loop.js";
import { sendable } from "../../model/sendable.js";

/** A user's message, as model requests have them. */
interface UserMessage {
  readonly role: "user";
  readonly content: { type: "text"; text: string }[];
}

/**
 * What is told between the steps of one turn. It stays at its place: the messages of each later step are those of the step
 * before, and go on.
 */
export class StepUpdates {
  readonly #told: { readonly at: number; readonly message: UserMessage }[] = [];

  /**
   * `update` gives what changed since it was last asked: see `PreparedTurn`. `mend` gives a message as the model takes it, the
   * same one where it does.
   */
  constructor(
    private readonly update: () => Promise<string | null>,
    private readonly mend: <M>(message: M) => M,
  ) {}

  /** The messages of a step with all that was told by then, as a request can hold them; null where they are to be sent as they are. */
  async before<M>(stepNumber: number, messages: readonly M[]): Promise<(M | UserMessage)[] | null> {
    const text = stepNumber === 0 ? null : await this.update();
    const toldBefore = new Set<unknown>(this.#told.map(({ message }) => message));
    const own = messages.filter((message) => !toldBefore.has(message));
    if (text !== null) {
      this.#told.push({ at: own.length, message: { role: "user", content: [{ type: "text", text }] } });
    }
    const all: (M | UserMessage)[] = this.#told.length === 0 ? (messages as M[]) : [...own];
    for (const [before, { at, message }] of this.#told.entries()) all.splice(at + before, 0, message);
    // A tool of this turn may have given what no request can hold.
    const sent = await inTurns(mapped(all, (message) => this.mend(sendable(message))));
    return sent.length === messages.length && sent.every((message, index) => message === messages[index]) ? null : sent;
  }
}
