import { cpuTime } from "../../test/helpers/cpu-time.js";

/** What a call took, in milliseconds. */
export interface Measured {
  readonly time: number;
  /** The longest time between two turns of the event loop. */
  readonly pause: number;
}

/**
 * Runs a work while the event loop turns as often as it can. Of a turn that other programs of the machine interrupted, what this
 * process used of the processor counts.
 */
export async function measure(work: () => unknown): Promise<Measured> {
  let pause = 0;
  let isOver = false;
  let [turned, used] = [performance.now(), cpuTime()];
  const turn = (): void => {
    const [now, cpu] = [performance.now(), cpuTime()];
    pause = Math.max(pause, Math.min(now - turned, cpu - used));
    [turned, used] = [now, cpu];
    if (!isOver) setImmediate(turn);
  };
  await new Promise((resolve) => setImmediate(resolve));
  turn();
  pause = 0;
  const begun = performance.now();
  await work();
  const time = performance.now() - begun;
  // The turn in which it ended counts too.
  await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  return { time, pause };
}

/** The middle one of several runs, each value by itself. */
export function medianOf(runs: readonly Measured[]): Measured {
  const middle = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
  return { time: middle(runs.map(({ time }) => time)), pause: middle(runs.map(({ pause }) => pause)) };
}
