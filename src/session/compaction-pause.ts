/** After this many automatic attempts in a row that gained nothing, the trigger pauses. */
export const MAX_FRUITLESS = 3;

/** When the automatic trigger rests: after attempts that gained nothing, until the history has grown by half. */
export class CompactionPause {
  #fruitless = 0;
  #begunAt: number | null = null;

  isOn(tokens: number): boolean {
    if (this.#begunAt !== null && tokens >= this.#begunAt * 1.5) this.#begunAt = null;
    return this.#begunAt !== null;
  }

  /** Notes how an attempt went. True when the pause begins with it. */
  note(isFruitless: boolean, tokens: number): boolean {
    this.#fruitless = isFruitless ? this.#fruitless + 1 : 0;
    if (this.#fruitless < MAX_FRUITLESS) return false;
    this.#begunAt = tokens;
    this.#fruitless = 0;
    return true;
  }

  end(): void {
    this.#fruitless = 0;
    this.#begunAt = null;
  }
}
