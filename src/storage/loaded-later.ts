import { plainCopy } from "../model/plain-copy.js";
import { once } from "../once.js";
import type { HandOver } from "./hand-over.js";

/** Code that is loaded with the first call that needs it. Calls reach it in the order in which they are made. */
export class LoadedLater<Code> {
  #code: Code | null = null;
  #waiting = 0;
  readonly #load: () => Promise<Code>;

  constructor(load: () => Promise<Code>) {
    this.#load = once(async () => {
      this.#code = await load();
      return this.#code;
    });
  }

  /**
   * What `use` gives for the code and for what was given, as that is now. Where the code is there and nobody waits, `use` runs
   * before the call returns. Fails with what loading failed with; a later call loads again.
   */
  readonly call: HandOver<Code> = (given, use) =>
    this.#code !== null && this.#waiting === 0 ? use(this.#code, given) : this.#later(given, use);

  async #later<Given, T>(given: Given, use: (code: Code, given: Given) => Promise<T>): Promise<T> {
    const kept = plainCopy(given);
    this.#waiting += 1;
    let code: Code;
    try {
      // Those who wait for one promise go on in the order in which they came.
      code = await this.#load();
    } finally {
      this.#waiting -= 1;
    }
    return use(code, kept);
  }
}
