/** How numbers are spread, without keeping them. */
export class Distribution {
  #count = 0;
  #sum = 0;
  #squares = 0;

  add(value: number): void {
    this.#count += 1;
    this.#sum += value;
    this.#squares += value * value;
  }

  /** 0 of no number. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** The standard deviation; 0 of no number. */
  get deviation(): number {
    return this.#count === 0 ? 0 : Math.sqrt(Math.max(0, this.#squares / this.#count - this.mean ** 2));
  }
}
