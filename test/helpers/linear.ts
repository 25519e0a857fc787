import { cpuTime } from "./cpu-time.js";

// A machine that does much else may be slow: what is compared is how the time of the processor grows.
const ATTEMPTS = 5;
/** So many milliseconds more are no growth. */
const SLACK_MS = 50;
/** What no machine should need, in milliseconds. */
const HANG = 5000;

/** Runs work of a size and of four times as much: in the best of some attempts that takes not much more than four times as long. */
export async function expectLinear(size: number, work: (size: number) => unknown, what = ""): Promise<void> {
  await work(size);
  const best = { small: Infinity, large: Infinity };
  for (let attempt = 1; ; attempt += 1) {
    best.large = Math.min(best.large, await timed(() => work(size * 4)));
    // So little that the smaller one need not be known.
    if (best.large < SLACK_MS) return;
    best.small = Math.min(best.small, await timed(() => work(size)));
    if (best.large < 8 * best.small + SLACK_MS && best.large < HANG) return;
    if (attempt < ATTEMPTS) continue;
    throw new Error(`${what} ${size}: ${best.small} ms; ${size * 4}: ${best.large} ms`.trim());
  }
}

async function timed(work: () => unknown): Promise<number> {
  const before = cpuTime();
  await work();
  return cpuTime() - before;
}
