import { createBest } from "./vector-bytes.js";

/** Signs of so many numbers stand in one character, from "0" on. */
const SIGNS = 6;
const ZERO = 48;

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

/** How many vectors tell how alike vectors usually are. */
const USUAL = 256;

/**
 * Compares a query with the signs of many vectors: where a number of the vector is above 0 that of the query counts, else its
 * opposite. Keeps the numbers of the rows that are most alike, and of some that are spread evenly.
 */
export class SignScan {
  readonly #length: number;
  /** The sums that each character adds, place by place. */
  readonly #adds: Float32Array;
  readonly #best;
  #spread: number[] = [];
  #step = 1;
  #count = 0;

  constructor(query: Float32Array, limit: number) {
    this.#length = Math.ceil(query.length / SIGNS);
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

  /** Takes rows: their numbers with commas between them, and their signs one behind the other. Gives the numbers. */
  add(joined: string, signs: string): Float64Array {
    const numbers = new Float64Array(signs.length / this.#length);
    const adds = this.#adds;
    let comma = 0;
    let at = 0;
    for (let row = 0; row < numbers.length; row += 1) {
      // To split the text would make an object of each number.
      let n = 0;
      for (let code = joined.charCodeAt(comma); code >= ZERO; code = joined.charCodeAt(comma)) {
        n = n * 10 + code - ZERO;
        comma += 1;
      }
      comma += 1;
      numbers[row] = n;
      let score = 0;
      for (let start = 0; start < adds.length; start += 1 << SIGNS) {
        score += adds[start + signs.charCodeAt(at) - ZERO] as number;
        at += 1;
      }
      if (this.#best.takes(score)) this.#best.add({ n, score });
      if (this.#count % this.#step === 0) this.#spread.push(n);
      this.#count += 1;
      if (this.#spread.length < 2 * USUAL) continue;
      this.#spread = this.#spread.filter((_, index) => index % 2 === 0);
      this.#step *= 2;
    }
    return numbers;
  }

  /** The rows that are most alike, and those that are spread evenly over all, which are all where these are few. */
  take(): { likely: number[]; spread: number[] } {
    return { likely: this.#best.take().map(({ n }) => n), spread: this.#spread };
  }
}
