import { expect, it } from "vitest";
import { filledDays } from "../../../../src/page/components/filled-days.js";

const day = (name: string, inputTokens = 1) => ({ name, requests: 1, inputTokens, outputTokens: 0, cost: 0 });

it("puts the days in order, and zeros where nothing was used", () => {
  const days = filledDays([day("2026-03-02"), day("2026-02-27")]);
  expect(days).toHaveLength(30);
  expect(days.slice(-4).map(({ name, inputTokens }) => [name, inputTokens])).toEqual([
    ["2026-02-27", 1],
    ["2026-02-28", 0],
    ["2026-03-01", 0],
    ["2026-03-02", 1],
  ]);
});

it("gives the newest 400 days at most, and none for none", () => {
  expect(filledDays([day("2026-01-01"), day("2020-01-01")])).toHaveLength(400);
  expect(filledDays([])).toEqual([]);
});
