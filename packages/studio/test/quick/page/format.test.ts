import { expect, it } from "vitest";
import { ago, bytes, cost, counted, score, short } from "../../../src/page/format.js";

it("writes numbers in few characters", () => {
  expect([short(999), short(12_345), short(1_200_000)]).toEqual(["999", "12.3K", "1.2M"]);
  expect([bytes(12), bytes(1_500), bytes(2_500_000)]).toEqual(["12 B", "1.5 kB", "2.5 MB"]);
  expect([cost(0), cost(0.00123), cost(12.345)]).toEqual(["0", "0.0012", "12.35"]);
  expect([score(0), score(1.2345), score(0.00000144)]).toEqual(["0.00", "1.23", "1.44e-6"]);
  expect([counted(1, "message"), counted(1_000, "message")]).toEqual(["1 message", "1,000 messages"]);
});

it("tells how long ago a time was", () => {
  const now = new Date("2026-11-22T12:00:00Z");
  const before = (seconds: number) => ago(new Date(now.getTime() - seconds * 1000), now);
  expect([before(5), before(120), before(7_200), before(172_800)]).toEqual(["now", "2 min ago", "2 h ago", "2 d ago"]);
  expect(before(30 * 86_400)).toBe("Oct 23");
  expect(ago(new Date("nonsense"), now)).toBe("—");
});
