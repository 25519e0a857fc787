/** The states of a text's tokens, one row of `width` numbers after the other (a multiple of four), and which rows count. */
export interface TokenStates {
  readonly states: Float32Array;
  readonly width: number;
  /** The rows of known words: a token that stands for any unknown one says nothing. */
  readonly rows: readonly number[];
}

/**
 * Scores a passage: for each token of the query the best cosine among the tokens of the passage, and the mean of these. 0 where
 * one of the two has no token that counts.
 */
export function lateInteraction(query: TokenStates, passage: TokenStates): number {
  if (query.rows.length === 0 || passage.rows.length === 0) return 0;
  const { width } = query;
  const sizes = passage.rows.map((row) => sizeOf(passage, row));
  let sum = 0;
  for (const row of query.rows) {
    let best = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < sizes.length; index += 1) {
      const other = passage.rows[index] as number;
      const product = dot(query.states, row * width, passage.states, other * width, width);
      best = Math.max(best, product / (sizes[index] as number));
    }
    sum += best / sizeOf(query, row);
  }
  return sum / query.rows.length;
}

function sizeOf({ states, width }: TokenStates, row: number): number {
  // A row of zeros is like nothing.
  return Math.sqrt(dot(states, row * width, states, row * width, width)) || 1;
}

// Four sums beside each other: this is most of what a score takes outside of the model.
function dot(left: Float32Array, from: number, right: Float32Array, at: number, width: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0; i < width; i += 4) {
    a += (left[from + i] as number) * (right[at + i] as number);
    b += (left[from + i + 1] as number) * (right[at + i + 1] as number);
    c += (left[from + i + 2] as number) * (right[at + i + 2] as number);
    d += (left[from + i + 3] as number) * (right[at + i + 3] as number);
  }
  return a + b + c + d;
}
