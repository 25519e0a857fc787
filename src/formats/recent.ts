/** The newest values by key, as many as a limit allows: the oldest are forgotten. */
export class Recent<V> {
  readonly #values = new Map<string, { value: V; weight: number }>();
  #weight = 0;

  constructor(private readonly limit: number) {}

  /** The sum of the weights of the values that are there. */
  get weight(): number {
    return this.#weight;
  }

  get(key: string): V | undefined {
    return this.#values.get(key)?.value;
  }

  /** Adds a value, or adds to the weight of the one that is there. */
  set(key: string, value: V, weight = 1): void {
    const before = this.#values.get(key)?.weight ?? 0;
    this.#values.delete(key);
    this.#values.set(key, { value, weight: before + weight });
    this.#weight += weight;
    for (const [oldest, { weight: freed }] of this.#values) {
      if (this.#weight <= this.limit || oldest === key) break;
      this.#values.delete(oldest);
      this.#weight -= freed;
    }
  }

  clear(): void {
    this.#values.clear();
    this.#weight = 0;
  }

  delete(key: string): void {
    this.#weight -= this.#values.get(key)?.weight ?? 0;
    this.#values.delete(key);
  }
}
