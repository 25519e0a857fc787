import { expect, it } from "vitest";
import { rarityOf, scoreBy } from "../../../src/search/rank.js";

it("a word in more documents than were counted is as common as one in all of them", () => {
  expect(rarityOf(2, 3)).toBe(rarityOf(3, 3));
  expect(rarityOf(100, 1)).toBeGreaterThan(rarityOf(100, 10));
});

it("a word that every document holds tells a little, and one that half of them hold more", () => {
  expect(rarityOf(1_000, 1_000)).toBeGreaterThan(0);
  expect(rarityOf(500, 400)).toBeLessThan(rarityOf(500, 300));
  expect(rarityOf(501, 400)).toBe(rarityOf(501, 300));
  expect(rarityOf(1_000, 500)).toBeCloseTo(Math.log(2), 5);
});

it("a score is higher for a word that stands there more often, and for a shorter document", () => {
  const scoreOf = scoreBy(rarityOf(100, 3), 10);
  expect(scoreOf(2, 10)).toBeGreaterThan(scoreOf(1, 10));
  expect(scoreOf(1, 5)).toBeGreaterThan(scoreOf(1, 10));
});
