/** The product of a vector and the one at `slot` among others of its length. */
export function product(vector: Float32Array, others: Float32Array, slot = 0): number {
  const { length } = vector;
  const start = slot * length;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let index = 0;
  // Four sums do not wait for each other.
  for (; index + 3 < length; index += 4) {
    a += (vector[index] as number) * (others[start + index] as number);
    b += (vector[index + 1] as number) * (others[start + index + 1] as number);
    c += (vector[index + 2] as number) * (others[start + index + 2] as number);
    d += (vector[index + 3] as number) * (others[start + index + 3] as number);
  }
  for (; index < length; index += 1) a += (vector[index] as number) * (others[start + index] as number);
  return a + b + c + d;
}
