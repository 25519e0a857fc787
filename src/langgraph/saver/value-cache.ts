import { Recent } from "../../recent.js";

/** What all records together take at most. */
const MAX_BYTES = 4_000_000;
/** Characters of a key and what stands around an entry, in bytes. */
const OVERHEAD = 200;

/**
 * Records of values that were read or written lately, so that the next put need not read them again. A key is made of its
 * record's content, so what is kept is right for as long as a checkpoint names the key.
 */
export class ValueCache {
  readonly #records = new Recent<Uint8Array>(MAX_BYTES);

  get(key: string): Uint8Array | null {
    const record = this.#records.get(key);
    if (record !== undefined) this.set(key, record);
    return record ?? null;
  }

  set(key: string, record: Uint8Array): void {
    const size = record.length + OVERHEAD;
    if (size <= MAX_BYTES) this.#records.set(key, record, size);
  }
}
