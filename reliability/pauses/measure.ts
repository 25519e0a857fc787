import { type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { cpuTime } from "../../test/helpers/cpu-time.js";

/** What a call took, in milliseconds. */
export interface Measured {
  readonly time: number;
  /** The longest time between two yields to the event loop, without that of the collector of garbage. */
  readonly pause: number;
  /** The longest with it. */
  readonly pauseWithCollector: number;
}

/** A stretch of the process's time. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly used: number;
}

/** Stretches that are longer are compared with what the collector did, in milliseconds. */
const NOTICED = 10;

/**
 * Runs a work while the event loop turns as often as it can. Of a stretch that other programs of the machine interrupted, what this
 * process used of the processor counts.
 */
export async function measure(work: () => unknown): Promise<Measured> {
  const collections: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ["gc"] });
  const stretches: Stretch[] = [];
  let isOver = false;
  let [from, cpu] = [performance.now(), cpuTime()];
  const turn = (): void => {
    const [to, now] = [performance.now(), cpuTime()];
    const used = Math.min(to - from, now - cpu);
    if (used > NOTICED) stretches.push({ from, to, used });
    [from, cpu] = [to, now];
    if (!isOver) setImmediate(turn);
  };
  await new Promise((resolve) => setImmediate(resolve));
  turn();
  stretches.length = 0;
  const begun = performance.now();
  await work();
  const time = performance.now() - begun;
  // The stretch in which it ended counts too.
  await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  // The observer is called a moment after the collector.
  await new Promise((resolve) => setTimeout(resolve, 20));
  observer.disconnect();
  // While other programs interrupted it, the collector was not at work either.
  const collected = ({ from, to, used }: Stretch): number => {
    const within = collections.filter(({ startTime }) => startTime >= from && startTime < to);
    return within.reduce((sum, { duration }) => sum + duration, 0) * (used / (to - from));
  };
  return {
    time,
    pause: Math.max(0, ...stretches.map((stretch) => stretch.used - collected(stretch))),
    pauseWithCollector: Math.max(0, ...stretches.map(({ used }) => used)),
  };
}

/** The middle one of several runs, each value by itself. */
export function medianOf(runs: readonly Measured[]): Measured {
  const middle = (of: keyof Measured): number => {
    const values = runs.map((run) => run[of]).sort((a, b) => a - b);
    return values[Math.floor(values.length / 2)] as number;
  };
  return { time: middle("time"), pause: middle("pause"), pauseWithCollector: middle("pauseWithCollector") };
}
