import { describe, expect, it } from "vitest";
import { rankMatches } from "./rank.js";

const oneBranch = { sessionOf: () => 1, branchOf: () => undefined };
const order = (...arguments_: Parameters<typeof rankMatches>) => rankMatches(...arguments_).map(({ n }) => n);

describe("ranking", () => {
  it("puts the better match first, and the later one of equals", () => {
    expect(
      order(
        [
          new Map([
            [10, 1],
            [20, 3],
            [30, 1],
          ]),
        ],
        oneBranch,
      ),
    ).toEqual([20, 30, 10]);
  });

  it("lets a neighbour lend the words that a message lacks", () => {
    const harbour = new Map([
      [10, 2],
      [50, 2],
    ]);
    const friday = new Map([[11, 2]]);
    expect(order([harbour, friday], oneBranch)).toEqual([11, 10, 50]);
  });

  it("counts a word once, however many neighbours hold it", () => {
    const [alone, among] = [
      new Map([[10, 2]]),
      new Map([
        [9, 2],
        [10, 2],
        [11, 2],
      ]),
    ];
    const score = (term: Map<number, number>) =>
      rankMatches([term], { sessionOf: (n) => n, branchOf: () => undefined }).find(({ n }) => n === 10)?.score;
    expect(score(among)).toBe(score(alone));
  });

  it("takes two words for more than one word in a short line", () => {
    const harbour = new Map([
      [10, 1.69],
      [50, 0.6],
      [90, 1],
    ]);
    const friday = new Map([[50, 1]]);
    expect(order([harbour, friday], { sessionOf: (n) => n, branchOf: () => undefined })).toEqual([50, 10, 90]);
  });

  it("lends nothing across branches", () => {
    const terms = [new Map([[10, 2]]), new Map([[11, 2]])];
    const [together] = rankMatches(terms, oneBranch);
    const [apart] = rankMatches(terms, { ...oneBranch, branchOf: (n) => n });
    expect(together?.score).toBeGreaterThan(apart?.score as number);
  });

  it("gives a little to a message of a session with several matches", () => {
    const term = new Map([
      [10, 2],
      [40, 2],
      [70, 2],
      [200, 2],
    ]);
    const sessionOf = (n: number) => (n < 100 ? 1 : 2);
    expect(order([term], { sessionOf, branchOf: () => undefined })).toEqual([70, 40, 10, 200]);
  });

  it("counts a quoted phrase more, where it stands only", () => {
    const words = new Map([
      [10, 3],
      [11, 2],
    ]);
    const phrase = new Map([[11, 1]]);
    expect(order([words, phrase], oneBranch, 1)).toEqual([11, 10]);
  });

  it("finds only messages that hold a word themselves", () => {
    expect(order([new Map([[10, 5]])], oneBranch)).toEqual([10]);
  });
});
