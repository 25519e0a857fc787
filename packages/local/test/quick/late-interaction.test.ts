import { expect, it } from "vitest";
import { lateInteraction, packStates } from "../../src/thread/late-interaction.js";

/** A text whose tokens have these states. */
function tokens(...states: [number, number, number, number][]) {
  return packStates(Float32Array.from(states.flat()), 4, [...states.keys()]);
}

it("is the mean, over the tokens of the query, of the best cosine among those of the passage", () => {
  const query = tokens([2, 0, 0, 0], [0, 3, 0, 0]);
  expect(lateInteraction(query, tokens([5, 0, 0, 0], [0, 1, 0, 0]))).toBeCloseTo(1);
  expect(lateInteraction(query, tokens([1, 0, 0, 0], [0, 0, 9, 0]))).toBeCloseTo(0.5);
  expect(lateInteraction(query, tokens([1, 1, 0, 0]))).toBeCloseTo(Math.SQRT1_2);
  expect(lateInteraction(query, tokens([-1, 0, 0, 0]))).toBeCloseTo(-0.5);
});

it("counts a passage of more than 60 tokens for less, the longer it is", () => {
  const query = tokens([1, 0, 0, 0]);
  const of = (length: number) => {
    const others = Array.from({ length: length - 1 }, (): [number, number, number, number] => [0, 1, 0, 0]);
    return lateInteraction(query, tokens([1, 0, 0, 0], ...others));
  };
  expect([of(1), of(60)]).toEqual([1, 1]);
  expect(of(120)).toBeCloseTo(1 - 0.08 * Math.LN2);
  expect(of(240)).toBeCloseTo(1 - 0.16 * Math.LN2);
});

it("does not look at rows that do not count, and is 0 where none does", () => {
  const states = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 0);
  const passage = packStates(states, 4, [1]);
  expect(lateInteraction(tokens([1, 0, 0, 0]), passage)).toBe(0);
  expect(lateInteraction(tokens([0, 1, 0, 0]), passage)).toBe(1);
  expect(lateInteraction(tokens([0, 1, 0, 0]), packStates(states, 4, []))).toBe(0);
  expect(lateInteraction(packStates(states, 4, []), passage)).toBe(0);
  expect(lateInteraction(tokens([0, 0, 0, 0]), passage)).toBe(0);
});

it("is within 0.002 of what it would be for exact states", () => {
  const width = 384;
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647 - 0.5;
  };
  for (let round = 0; round < 20; round += 1) {
    const [left, right] = [0, 1].map(() =>
      Float32Array.from({ length: width }, (_, i) => random() * (i === 7 ? 4 : 1)),
    );
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
    const [query, passage] = [left as Float32Array, right as Float32Array];
    const exact = dot(query, passage) / Math.sqrt(dot(query, query) * dot(passage, passage));
    const packed = lateInteraction(packStates(query, width, [0]), packStates(passage, width, [0]));
    expect(Math.abs(packed - exact)).toBeLessThan(0.002);
  }
});
