import { describe, expect, it } from "vitest";
import { BackgroundWorker, doublingDelay } from "../../../src/embeddings/background-worker.js";

/** A worker whose first `failing` steps fail. */
function workerOf(failing: number) {
  const delays: number[] = [];
  const errors: unknown[] = [];
  let steps = 0;
  const worker = new BackgroundWorker({
    async step() {
      steps += 1;
      if (steps <= failing) throw new Error(`failure ${steps}`);
      return false;
    },
    onError: (error) => errors.push(error),
    interval: null,
    retryDelay(failures) {
      delays.push(failures);
      return 0;
    },
  });
  return { worker, delays, errors };
}

describe("background work", () => {
  it("waits after each failure as long as it is told, and goes on", async () => {
    const { worker, delays, errors } = workerOf(2);
    await worker.finish();
    await worker.stop();
    expect(errors).toHaveLength(2);
    expect([...new Set(delays)]).toEqual([1, 2]);
    expect(worker.lastError).toBeNull();
  });

  it("gives up after three failures in a row where someone waits for its end", async () => {
    const { worker, errors } = workerOf(Number.POSITIVE_INFINITY);
    await expect(worker.finish()).rejects.toThrow("failure");
    await worker.stop();
    expect(errors.length).toBeGreaterThanOrEqual(3);
  });

  it("waits twice as long after each failure unless told otherwise, and five minutes at most", () => {
    for (const [failures, delay] of [
      [1, 500],
      [2, 1000],
      [5, 8000],
      [40, 300_000],
    ] as const) {
      for (let time = 0; time < 20; time += 1) expect(Math.abs(doublingDelay(failures) / delay - 1)).toBeLessThan(0.26);
    }
  });
});
