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

  /** The values that are there, the oldest first. */
  values(): V[] {
    return [...this.#values.values()].map(({ value }) => value);
  }

  /** Adds a value, which is the newest then. It stays even where it alone weighs more than the limit. */
  set(key: string, value: V, weight = 1): void {
    this.delete(key);
    this.#values.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  /** Makes a value that is there weigh more. It is the newest then. */
  grow(key: string, more: number): void {
    const known = this.#values.get(key);
    if (known !== undefined) this.set(key, known.value, known.weight + more);
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
