import { expect, it } from "vitest";
import { lateInteraction, type TokenStates } from "../../src/thread/late-interaction.js";

/** A text whose tokens have these states, four numbers each. */
function tokens(...rows: [number, number, number, number][]): TokenStates {
  return { states: Float32Array.from(rows.flat()), width: 4, rows: [...rows.keys()] };
}

it("is the mean, over the tokens of the query, of the best cosine among those of the passage", () => {
  const query = tokens([2, 0, 0, 0], [0, 3, 0, 0]);
  expect(lateInteraction(query, tokens([5, 0, 0, 0], [0, 1, 0, 0]))).toBeCloseTo(1);
  expect(lateInteraction(query, tokens([1, 0, 0, 0], [0, 0, 9, 0]))).toBeCloseTo(0.5);
  expect(lateInteraction(query, tokens([1, 1, 0, 0]))).toBeCloseTo(Math.SQRT1_2);
  expect(lateInteraction(query, tokens([-1, 0, 0, 0]))).toBeCloseTo(-0.5);
});

it("does not look at rows that do not count, and is 0 where none does", () => {
  const passage = { ...tokens([1, 0, 0, 0], [0, 1, 0, 0]), rows: [1] };
  expect(lateInteraction(tokens([1, 0, 0, 0]), passage)).toBe(0);
  expect(lateInteraction(tokens([0, 1, 0, 0]), { ...passage, rows: [] })).toBe(0);
  expect(lateInteraction({ ...tokens([0, 1, 0, 0]), rows: [] }, passage)).toBe(0);
  expect(lateInteraction(tokens([0, 0, 0, 0]), passage)).toBe(0);
});
