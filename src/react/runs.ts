import type { RunData } from "../ai-sdk.js";

type Begun = Pick<RunData, "runId" | "edited">;

/** The runs under way, by the chat. */
export class Runs {
  onEdit: (chatId: string, edited: NonNullable<RunData["edited"]>) => void = () => {};
  readonly #ids = new Map<string, string>();
  readonly #waiting = new Map<string, ((runId: string | null) => void)[]>();

  begin(chatId: string, { runId, edited }: Begun): void {
    this.#ids.set(chatId, runId);
    this.#tell(chatId, runId);
    if (edited !== null) this.onEdit(chatId, edited);
  }

  end(chatId: string): void {
    this.#ids.delete(chatId);
    this.#tell(chatId, null);
  }

  /** The run's id as soon as the server says it; null when the chat's request ends without one. */
  current(chatId: string): Promise<string | null> {
    const known = this.#ids.get(chatId);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((tell) => this.#waiting.set(chatId, [...(this.#waiting.get(chatId) ?? []), tell]));
  }

  #tell(chatId: string, runId: string | null): void {
    for (const tell of this.#waiting.get(chatId) ?? []) tell(runId);
    this.#waiting.delete(chatId);
  }
}
