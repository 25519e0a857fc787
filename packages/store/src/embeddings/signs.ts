import { createBest } from "./vector-bytes.js";

/** Signs of so many numbers stand in one character, from "0" on. */
const SIGNS = 6;
const ZERO = 48;
/** Stands where a row has no signs. */
const BLANK = 32;

/** The signs of a vector's numbers as a text, which a SQL engine joins to others as it is. */
export function signsOf(vector: Float32Array): string {
  const codes: number[] = [];
  for (let start = 0; start < vector.length; start += SIGNS) {
    let bits = 0;
    for (let place = 0; place < SIGNS; place += 1) if ((vector[start + place] ?? 0) > 0) bits |= 1 << place;
    codes.push(ZERO + bits);
  }
  return String.fromCharCode(...codes);
}

/** The signs of so many rows stand in one text: those of row n in the pack n / PACK, at n % PACK. */
export const PACK = 64;

/** Numbers from `lo` to `hi`, in ascending order. */
export type Ranges = readonly (readonly [lo: number, hi: number])[];

/** The packs in which the signs of rows are. */
export function packsOf(rows: Ranges): [lo: number, hi: number][] {
  const packs: [lo: number, hi: number][] = [];
  for (const row of rows) {
    const [lo, hi] = [Math.floor(row[0] / PACK), Math.floor(row[1] / PACK)];
    const last = packs.at(-1);
    if (last !== undefined && lo <= last[1] + 1) last[1] = Math.max(last[1], hi);
    else packs.push([lo, hi]);
  }
  return packs;
}

/** How many vectors tell how alike vectors usually are. */
const USUAL = 256;

/**
 * Compares a query with the signs of many vectors: where a number of the vector is above 0 that of the query counts, else its
 * opposite. Keeps the numbers of the rows that are most alike, and of some that are spread evenly.
 */
export class SignScan {
  /** The characters of one vector. */
  readonly #length: number;
  /** The sums that each character adds, place by place. */
  readonly #adds: Float32Array;
  readonly #bytes: Uint8Array;
  readonly #best;
  #spread: number[] = [];
  #step = 1;
  #count = 0;
  /** The first of the ranges that may hold a row of the next pack. */
  #range = 0;

  /** Of the rows in some ranges. */
  constructor(
    query: Float32Array,
    limit: number,
    private readonly rows: Ranges,
  ) {
    this.#length = Math.ceil(query.length / SIGNS);
    this.#bytes = new Uint8Array(PACK * this.#length);
    this.#adds = new Float32Array(this.#length << SIGNS);
    for (let index = 0; index < this.#adds.length; index += 1) {
      const start = (index >> SIGNS) * SIGNS;
      for (let place = 0; place < SIGNS; place += 1) {
        const number = query[start + place] ?? 0;
        (this.#adds[index] as number) += (index >> place) & 1 ? number : -number;
      }
    }
    this.#best = createBest<{ n: number; score: number }>(limit, Number.NEGATIVE_INFINITY);
  }

  /** Takes the packs in ascending order. */
  add(pack: number, signs: string): void {
    const [bytes, adds, length] = [this.#bytes, this.#adds, this.#length];
    const { written } = encoder.encodeInto(signs, bytes);
    for (let at = 0, n = pack * PACK; at + length <= written; at += length, n += 1) {
      if (bytes[at] === BLANK || !this.#isIn(n)) continue;
      const score = sumOf(adds, bytes, at, at + length);
      if (this.#best.takes(score)) this.#best.add({ n, score });
      if (this.#count % this.#step === 0) this.#spread.push(n);
      this.#count += 1;
      if (this.#spread.length < 2 * USUAL) continue;
      this.#spread = this.#spread.filter((_, index) => index % 2 === 0);
      this.#step *= 2;
    }
  }

  #isIn(n: number): boolean {
    while ((this.rows[this.#range]?.[1] ?? n) < n) this.#range += 1;
    return (this.rows[this.#range]?.[0] ?? Number.POSITIVE_INFINITY) <= n;
  }

  /** The rows that are most alike, and those that are spread evenly over all, which are all where these are few. */
  take(): { likely: number[]; spread: number[] } {
    return { likely: this.#best.take().map(({ n }) => n), spread: this.#spread };
  }
}

const encoder = new TextEncoder();

function sumOf(adds: Float32Array, bytes: Uint8Array, begin: number, end: number): number {
  let even = 0;
  let odd = 0;
  let index = begin;
  // The sums of a character begin at its code. Two sums do not wait for each other.
  let start = -ZERO;
  for (; index + 1 < end; index += 2) {
    even += adds[start + (bytes[index] as number)] as number;
    odd += adds[start + (1 << SIGNS) + (bytes[index + 1] as number)] as number;
    start += 2 << SIGNS;
  }
  return index < end ? even + odd + (adds[start + (bytes[index] as number)] as number) : even + odd;
}
