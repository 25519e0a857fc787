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
   * `update` gives what changed since it was last asked: see `PreparedTurn`. `mend` gives the messages as the model takes them,
   * the same array where it does.
   */
  constructor(
    private readonly update: () => Promise<string | null>,
    private readonly mend: <M>(messages: readonly M[]) => readonly M[],
  ) {}

  /** The messages of a step with all that was told by then, as a request can hold them; null where they are to be sent as they are. */
  async before<M>(stepNumber: number, messages: readonly M[]): Promise<(M | UserMessage)[] | null> {
    const text = stepNumber === 0 ? null : await this.update();
    const own = messages.filter((message) => !this.#told.some((told) => told.message === (message as unknown)));
    if (text !== null) {
      this.#told.push({ at: own.length, message: { role: "user", content: [{ type: "text", text }] } });
    }
    const all: (M | UserMessage)[] = this.#told.length === 0 ? (messages as M[]) : [...own];
    for (const [before, { at, message }] of this.#told.entries()) all.splice(at + before, 0, message);
    // A tool of this turn may have given what no request can hold.
    const sent = this.mend(sendable(all));
    return sent === messages ? null : [...sent];
  }
}
