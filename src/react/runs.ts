import type { RunData } from "../ai-sdk.js";

type Begun = Pick<RunData, "runId" | "edited">;

/** The runs under way, by the chat. */
export class Runs {
  onEdit: (chatId: string, edited: NonNullable<RunData["edited"]>) => void = () => {};
  readonly #ids = new Map<string, string>();
  readonly #missed = new Set<string>();
  readonly #waiting = new Map<string, ((runId: string | null) => void)[]>();

  begin(chatId: string, { runId, edited }: Begun): void {
    this.#ids.set(chatId, runId);
    this.#missed.delete(chatId);
    this.#tell(chatId, runId);
    if (edited !== null) this.onEdit(chatId, edited);
  }

  /** Takes down that a run that was begun has no stream, because it has ended. */
  miss(chatId: string): void {
    this.#missed.add(chatId);
  }

  /** True for a chat whose latest run had ended before its stream was asked for. */
  isMissed(chatId: string): boolean {
    return this.#missed.has(chatId);
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
