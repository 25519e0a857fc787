import type { JsonObject } from "@stemma/model";

/** Walks along the lines that a target has, in the order of those that are copied to it. */
export class Matching {
  readonly #lines: AsyncIterator<JsonObject>;
  #next: JsonObject | null = null;
  #isRead = false;

  constructor(lines: AsyncIterable<JsonObject>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async peek(): Promise<JsonObject | null> {
    if (!this.#isRead) {
      const step = await this.#lines.next();
      this.#next = step.done === true ? null : step.value;
      this.#isRead = true;
    }
    return this.#next;
  }

  advance(): void {
    // Behind the last there is nothing more, also if something is written there meanwhile.
    if (this.#next !== null) this.#isRead = false;
  }
}

export const isSameLine = (one: JsonObject, other: JsonObject): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
