import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ByMeaning, fuseRankings } from "../../../src/search/score-fusion.js";

const ranking = (...scores: [n: number, score: number][]) => scores.map(([n, score]) => ({ n, score }));
const EQUALLY = { words: 1, vectors: 1 };
const numbersOf = (words: ReturnType<typeof ranking>, meaning: ByMeaning, weights = EQUALLY) =>
  fuseRankings(words, meaning, weights).map(({ n }) => n);
const meaning = (...scores: [n: number, score: number][]): ByMeaning => ({
  ranked: ranking(...scores),
  mean: 0.2,
  deviation: 0.1,
});

describe("a ranking by words and by meaning", () => {
  const words = ranking([1, 12], [2, 9], [3, 4]);

  it("leaves what words say where nothing stands out by meaning, and adds the rest behind", () => {
    expect(numbersOf(words, meaning([9, 0.31], [3, 0.3], [2, 0.2], [8, 0.1]))).toEqual([1, 2, 3, 9, 8]);
  });

  it("puts first what stands out far", () => {
    expect(numbersOf(words, meaning([9, 1.05], [2, 0.3]))).toEqual([9, 1, 2, 3]);
  });

  it("is by similarity where no word is found, also below the usual", () => {
    expect(numbersOf([], meaning([5, 0.3], [7, 0.15], [6, 0.1]))).toEqual([5, 7, 6]);
  });

  it("is by one of them where the other has no weight", () => {
    const near = meaning([9, 0.95], [2, 0.3]);
    expect(numbersOf(words, near, { words: 1, vectors: 0 })).toEqual([1, 2, 3]);
    expect(numbersOf(words, near, { words: 0, vectors: 1 })).toEqual([9, 2]);
  });

  it("takes vectors that are all alike", () => {
    expect(numbersOf(words, { ranked: ranking([9, 0.5], [2, 0.5]), mean: 0.5, deviation: 0 })).toEqual([1, 2, 3, 9]);
  });

  it("does not depend on the scale of either", () => {
    const scores = fc.uniqueArray(fc.tuple(fc.nat(30), fc.double({ min: 0.01, max: 1, noNaN: true })), {
      selector: ([n]) => n,
    });
    const sorted = (list: [number, number][]) => ranking(...list).sort((a, b) => b.score - a.score);
    fc.assert(
      fc.property(scores, scores, (byWords, byMeaning) => {
        const [one, two] = [sorted(byWords), sorted(byMeaning)];
        const scaled = (list: typeof one, factor: number, offset = 0) =>
          list.map(({ n, score }) => ({ n, score: score * factor + offset }));
        const found = fuseRankings(one, { ranked: two, mean: 0.25, deviation: 0.125 }, EQUALLY);
        const again = fuseRankings(
          scaled(one, 8),
          { ranked: scaled(two, 0.5, 0.5), mean: 0.625, deviation: 0.0625 },
          EQUALLY,
        );
        for (const { n, score } of found) expect(again.find((each) => each.n === n)?.score).toBeCloseTo(score, 9);
      }),
    );
  });
});
