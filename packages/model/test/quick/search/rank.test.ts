import { describe, expect, it } from "vitest";
import {
  type Matches,
  messagesOf,
  nearMessages,
  neighboursOf,
  rankMatches,
  withUsual,
} from "../../../src/search/rank.js";

const oneBranch = { sessionOf: () => 1, branchOf: () => undefined };
type Term = ReadonlyMap<number, number>;
const matchesOf = (term: Term): Matches => {
  const numbers = [...term.keys()].sort((a, b) => a - b);
  return { numbers, scores: numbers.map((n) => term.get(n) as number) };
};
type Around = Omit<Parameters<typeof rankMatches>[1], "messages" | "lengths">;
const short = new Map<number, number>();
const foundOf = (terms: Matches[], around: Around, lengths = short) => ({
  messages: messagesOf(terms),
  lengths,
  ...around,
});
const rank = (terms: Term[], around: Around, quotedFrom?: number, lengths = short) => {
  const matches = terms.map(matchesOf);
  return rankMatches(matches, foundOf(matches, around, lengths), quotedFrom === undefined ? {} : { quotedFrom });
};
const order = (...arguments_: Parameters<typeof rank>) => rank(...arguments_).map(({ n }) => n);

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

  it("gives the best so many as they stand among all, equals too", () => {
    const terms = [7, 11, 13].map((step) => {
      const numbers = Array.from({ length: 200 }, (_, index) => index * step);
      return { numbers, scores: numbers.map((n) => 1 + (n % 5)) };
    });
    const all = rankMatches(terms, foundOf(terms, oneBranch));
    expect(new Set(all.map(({ score }) => score)).size).toBeLessThan(all.length / 2);
    for (const best of [1, 2, 20, all.length - 1, all.length, all.length + 1]) {
      expect(rankMatches(terms, foundOf(terms, oneBranch), { best })).toEqual(all.slice(0, best));
    }
  });

  it("lends no term that stands alone, since each message has it", () => {
    const harbour = new Map([
      [10, 10],
      [11, 0.01],
      [20, 2],
    ]);
    expect(order([harbour], oneBranch)).toEqual([10, 20, 11]);
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
      rank([term], { sessionOf: (n) => n, branchOf: () => undefined }).find(({ n }) => n === 10)?.score;
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

  it("counts a long message for less, the less of the query it holds itself", () => {
    const scoreAt = (length: number, query: Term[]) =>
      rank(query, oneBranch, undefined, new Map([[10, length]])).find(({ n }) => n === 10)?.score as number;
    const [harbour, friday] = [new Map([[10, 2]]), new Map([[50, 2]])];
    const share = (length: number, query: Term[]) => scoreAt(length, query) / scoreAt(1, query);
    expect(share(100, [harbour, friday])).toBe(1);
    expect(share(1_000, [harbour])).toBe(1);
    const [half, third] = [
      [harbour, friday],
      [harbour, friday, new Map([[50, 2]])],
    ];
    expect(share(1_000, half)).toBeCloseTo(10 ** (-0.25 * 0.75), 6);
    expect(share(1_000, third)).toBeCloseTo(10 ** (-0.25 * (1 - 1 / 9)), 6);
    expect(share(10_000, half)).toBeLessThan(share(1_000, half));
  });

  it("lets a long message lend less", () => {
    const terms = [new Map([[10, 2]]), new Map([[11, 2]])];
    const lent = (length: number) =>
      rank(terms, oneBranch, undefined, new Map([[11, length]])).find(({ n }) => n === 10)?.score as number;
    expect(lent(100)).toBe(lent(1));
    expect(lent(1_000)).toBeLessThan(lent(100));
  });

  it("explains how much of the query a message holds, and parts that add up to its score", () => {
    const terms = [
      new Map([
        [10, 3],
        [11, 1],
      ]),
      new Map([[11, 2]]),
    ];
    const lengths = new Map([[10, 400]]);
    const matches = terms.map(matchesOf);
    const found = foundOf(matches, { ...oneBranch, sessionOf: (n) => n }, lengths);
    const ranked = rankMatches(matches, found, { explain: true });
    const [first, second] = ranked;
    expect([first?.n, first?.reasons?.coverage]).toEqual([11, 1]);
    expect([second?.n, second?.reasons?.coverage]).toEqual([10, 0.5]);
    for (const { score, reasons } of ranked) {
      const words = reasons?.shares.reduce((sum, share) => sum + share, 0) as number;
      expect(words).toBeLessThan(score);
      expect(words).toBeGreaterThan(0.85 * score);
    }
  });

  it("lends nothing across branches", () => {
    const terms = [new Map([[10, 2]]), new Map([[11, 2]])];
    const [together] = rank(terms, oneBranch);
    const [apart] = rank(terms, { ...oneBranch, branchOf: (n) => n });
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

  it("finds which messages stand near a match, and whose neighbours they are", () => {
    const messages = messagesOf([
      matchesOf(new Map([[10, 1]])),
      matchesOf(
        new Map([
          [10, 1],
          [30, 1],
        ]),
      ),
    ]);
    expect([...messages]).toEqual([10, 30]);
    expect(nearMessages([5, 6, 10, 14, 15, 26, 34, 35], messages)).toEqual([6, 10, 14, 26, 34]);
    expect(neighboursOf(messages)).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 26, 27, 28, 29, 30, 31, 32, 33, 34]);
    expect(nearMessages([1], messagesOf([]))).toEqual([]);
  });

  it("takes matches that were not scored for usual ones", () => {
    const scored = matchesOf(
      new Map([
        [10, 1],
        [20, 3],
      ]),
    );
    expect(withUsual(scored, [5, 10, 15, 25])).toEqual({ numbers: [5, 10, 15, 20, 25], scores: [2, 1, 2, 3, 2] });
  });
});
