/** After this many automatic attempts in a row that gained nothing, the trigger pauses. */
export const MAX_FRUITLESS = 3;

/** How large a session is: what a counter of the host's says may not grow with the history. */
export interface Size {
  /** What the trigger compares with the threshold. */
  readonly tokens: number;
  /** The visible messages, as estimated. */
  readonly messages: number;
}

/** When the automatic trigger rests: after attempts that gained nothing, until the history has grown by half. */
export class CompactionPause {
  #fruitless = 0;
  #begunAt: Size | null = null;

  isOn(size: Size): boolean {
    if (this.#begunAt !== null && hasGrownByHalf(this.#begunAt, size)) this.#begunAt = null;
    return this.#begunAt !== null;
  }

  /** Notes how an attempt went. True when the pause begins with it. */
  note(isFruitless: boolean, size: Size): boolean {
    this.#fruitless = isFruitless ? this.#fruitless + 1 : 0;
    if (this.#fruitless < MAX_FRUITLESS) return false;
    this.#begunAt = size;
    this.#fruitless = 0;
    return true;
  }

  end(): void {
    this.#fruitless = 0;
    this.#begunAt = null;
  }
}

function hasGrownByHalf(before: Size, now: Size): boolean {
  return now.tokens >= before.tokens * 1.5 || now.messages >= before.messages * 1.5;
}
