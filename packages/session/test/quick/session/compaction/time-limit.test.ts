import { afterEach, describe, expect, it, vi } from "vitest";
import { answerWithin, Waiters, withinTime } from "../../../../src/session/compaction/time-limit.js";

const never = new Promise<never>(() => {});

/** How many of the timers that were set since then keep the process alive: `hasRef` stays true when a timer is over. */
function watchTimers(): () => number {
  const [set, cleared] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
  return () => {
    const over = new Set(cleared.mock.calls.map(([timer]) => timer));
    return set.mock.results.filter(({ value }) => value.hasRef() && !over.has(value)).length;
  };
}

describe("a time limit", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("gives what came in time, also a failure", async () => {
    expect(await withinTime(Promise.resolve(1), 1000)).toBe(1);
    await expect(withinTime(Promise.reject(new RangeError("away")), 1000)).rejects.toThrow("away");
    expect(await withinTime(Promise.resolve(2), Number.POSITIVE_INFINITY)).toBe(2);
  });

  it("fails when it is over, and leaves a late failure unnoticed", async () => {
    let fail = (_: Error) => {};
    const late = new Promise((_, reject) => {
      fail = reject;
    });
    await expect(withinTime(late, 5)).rejects.toMatchObject({ code: "COMPACTION_TIMEOUT", details: { timeout: 5 } });
    fail(new RangeError("too late"));
    await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it("keeps the process alive for as long as somebody waits, and no longer", async () => {
    const timers = watchTimers();
    const waiting = withinTime(never, 5);
    expect(timers()).toBe(1);
    await expect(waiting).rejects.toMatchObject({ code: "COMPACTION_TIMEOUT" });
    expect(await withinTime(Promise.resolve(1), 60_000)).toBe(1);
    expect(timers()).toBe(0);
  });

  it("of work in the background keeps the process alive only while somebody waits for it", async () => {
    const timers = watchTimers();
    const waiters = new Waiters();
    const answers = [1, 2].map(() => answerWithin(never, 50, "too late", waiters));
    const work = Promise.allSettled(answers);
    expect(timers()).toBe(0);
    const waiting = [waiters.wait(work), waiters.wait(Promise.resolve())];
    expect(timers()).toBe(2);
    await waiting[1];
    expect(timers()).toBe(2);
    await expect(waiters.wait(Promise.reject(new RangeError("away")))).rejects.toThrow("away");
    await waiting[0];
    await expect(answers[0]).rejects.toMatchObject({ code: "LEARNING_FAILED", message: "too late" });
    const again = answerWithin(Promise.resolve(1), 60_000, "too late", waiters);
    expect(timers()).toBe(0);
    expect(await again).toBe(1);
  });
});
