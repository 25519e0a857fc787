/** What all records together take at most. */
const MAX_BYTES = 4_000_000;
/** Characters of a key and what stands around an entry, in bytes. */
const OVERHEAD = 200;

/**
 * Records of values that were read or written lately, so that the next put need not read them again. A key is made of its
 * record's content, so what is kept is right for as long as a checkpoint names the key.
 */
export class ValueCache {
  // What was used longest ago comes first.
  readonly #records = new Map<string, Uint8Array>();
  #size = 0;

  get(key: string): Uint8Array | null {
    const record = this.#records.get(key);
    if (record === undefined) return null;
    this.#records.delete(key);
    this.#records.set(key, record);
    return record;
  }

  set(key: string, record: Uint8Array): void {
    this.#remove(key);
    this.#records.set(key, record);
    this.#size += record.length + OVERHEAD;
    for (const oldest of this.#records.keys()) {
      if (this.#size <= MAX_BYTES) return;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    const record = this.#records.get(key);
    if (record === undefined) return;
    this.#records.delete(key);
    this.#size -= record.length + OVERHEAD;
  }
}
