/** The states of those tokens of a text that count, in eight bits, one row of `width` numbers after the other. */
export interface TokenStates {
  readonly states: Int8Array;
  readonly width: number;
  /** The length of each row. */
  readonly sizes: Float32Array;
}

const LARGEST = 127;

/** So many tokens a passage may have before its length counts against it, and how much: of more, one is alike by chance. */
const SHORT = 60;
const LENGTH_COST = 0.08;

/**
 * Packs rows of a network's output into a quarter of their size: each is turned into whole numbers of its own scale, since only its
 * direction is compared.
 */
export function packStates(output: Float32Array, width: number, rows: readonly number[]): TokenStates {
  const states = new Int8Array(rows.length * width);
  const sizes = new Float32Array(rows.length);
  for (const [index, row] of rows.entries()) {
    const state = output.subarray(row * width, (row + 1) * width);
    let most = 0;
    for (const value of state) most = Math.max(most, Math.abs(value));
    const scale = most === 0 ? 0 : LARGEST / most;
    for (let i = 0; i < width; i += 1) states[index * width + i] = Math.round((state[i] as number) * scale);
    // A row of zeros is like nothing.
    sizes[index] = Math.sqrt(dot(states, index * width, states, index * width, width)) || 1;
  }
  return { states, width, sizes };
}

/**
 * Scores a passage: for each token of the query the best cosine among the tokens of the passage, and the mean of these; of more than
 * 60 tokens less, by the logarithm of how many more. 0 where one of the two has no token that counts.
 */
export function lateInteraction(query: TokenStates, passage: TokenStates): number {
  if (query.sizes.length === 0 || passage.sizes.length === 0) return 0;
  const { width } = query;
  let sum = 0;
  for (let row = 0; row < query.sizes.length; row += 1) {
    let best = Number.NEGATIVE_INFINITY;
    for (let other = 0; other < passage.sizes.length; other += 1) {
      const product = dot(query.states, row * width, passage.states, other * width, width);
      best = Math.max(best, product / (passage.sizes[other] as number));
    }
    sum += best / (query.sizes[row] as number);
  }
  return sum / query.sizes.length - LENGTH_COST * Math.log(Math.max(1, passage.sizes.length / SHORT));
}

// This is most of what a score takes outside of the model.
function dot(left: Int8Array, from: number, right: Int8Array, at: number, width: number): number {
  let sum = 0;
  for (let i = 0; i < width; i += 1) sum += (left[from + i] as number) * (right[at + i] as number);
  return sum;
}
